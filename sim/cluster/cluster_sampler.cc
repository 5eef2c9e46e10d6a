#include "sim/cluster/cluster_sampler.h"

#include <algorithm>

#include "runtime/sleep.h"
#include "sim/cluster/cost_engine.h"

namespace baton::sim {

ClusterSampler::ClusterSampler(SampledWorld world, Duration period, std::size_t samples_max)
    : world_(world), period_(period), samples_max_(samples_max), last_time_(world.context.now()) {}

Task<> ClusterSampler::run() {
  for (;;) {
    co_await sleep_until(world_.context, last_time_ + period_, kSamplePriority);
    look();
    if (samples_.size() >= samples_max_) {
      thin_out();
    }
  }
}

void ClusterSampler::find_ranks() {
  for (const auto& [rank, account] : world_.accounts) {
    const bool prompts = rank.role == Role::prefill;
    ranks_.push_back({&account, world_.node.pool(rank), &pages_used_max_[rank], prompts});
    (prompts ? prefill_ranks_ : decode_ranks_) += 1;
  }
  for (LinkIndex link = 0; link < world_.network.links(); ++link) {
    link_capacity_ += world_.network.capacity(link);
  }
}

void ClusterSampler::look() {
  if (ranks_.empty()) {
    find_ranks();
  }
  ClusterSample sample;
  sample.time = world_.context.now();
  Totals now;
  double pages = 0;
  double used = 0;
  for (const Watched& rank : ranks_) {
    (rank.prompts ? sample.computing_prefill : sample.running_decode) += rank.account->in_step;
    (rank.prompts ? now.prefill_busy : now.decode_busy) += rank.account->busy;
    const std::uint32_t taken = rank.pool->capacity() - rank.pool->available();
    *rank.pages_used_max = std::max(*rank.pages_used_max, taken);
    pages += rank.prompts ? 0 : rank.pool->capacity();
    used += rank.prompts ? 0 : taken;
  }
  const std::uint32_t at_prefill = depth(Role::prefill, "bootstrap") + depth(Role::prefill, "waiting");
  sample.waiting_prefill = at_prefill - std::min(at_prefill, sample.computing_prefill);
  sample.in_transfer = depth(Role::prefill, "inflight");
  for (const Role role : {Role::decode, Role::aggregated}) {
    sample.waiting_decode += depth(role, "ready") + depth(role, "retracted");
  }
  now.link_bytes = link_bytes();
  const double span = seconds(sample.time - last_time_);
  const auto share = [span](Duration busy, std::uint32_t ranks) {
    return ranks == 0 || span <= 0 ? 0 : std::min(1.0, seconds(busy) / span / ranks);
  };
  sample.prefill_busy = share(now.prefill_busy - last_.prefill_busy, prefill_ranks_);
  sample.decode_busy = share(now.decode_busy - last_.decode_busy, decode_ranks_);
  const double capacity = link_capacity_ * span;
  sample.links_busy = capacity > 0 ? (now.link_bytes - last_.link_bytes) / capacity : 0;
  sample.pages_used = pages > 0 ? used / pages : 0;
  last_ = now;
  last_time_ = sample.time;
  samples_.push_back(sample);
}

double ClusterSampler::link_bytes() const {
  double bytes = 0;
  for (LinkIndex link = 0; link < world_.network.links(); ++link) {
    bytes += world_.network.carried(link, world_.context.now());
  }
  return bytes;
}

std::uint32_t ClusterSampler::depth(Role role, const char* queue) {
  const auto [found, made] = gauges_.try_emplace({role, queue});
  std::vector<Gauge*>& gauges = found->second;
  if (made) {
    for (const RankId rank : world_.node.ranks()) {
      if (rank.role == role) {
        gauges.push_back(
            &world_.metrics.gauge("baton_queue_depth", "Requests in a rank's queue",
                                  {{"role", to_string(role)}, {"rank", std::to_string(rank.index)}, {"queue", queue}}));
      }
    }
  }
  double sum = 0;
  for (const Gauge* gauge : gauges) {
    sum += gauge->value();
  }
  return static_cast<std::uint32_t>(sum);
}

void ClusterSampler::thin_out() {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < samples_.size(); i += 2) {
    samples_[kept++] = samples_[i];
  }
  samples_.resize(kept);
  period_ *= 2;
}

}  // namespace baton::sim
