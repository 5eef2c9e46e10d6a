#include "sim/cluster/cluster_sampler.h"

#include <algorithm>

#include "runtime/sleep.h"
#include "sim/cluster/cost_engine.h"

namespace baton::sim {
namespace {

bool computes_prompts(RankId rank) {
  return rank.role == Role::prefill;
}

}  // namespace

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

void ClusterSampler::look() {
  ClusterSample sample;
  sample.time = world_.context.now();
  for (const auto& [rank, account] : world_.accounts) {
    (computes_prompts(rank) ? sample.computing_prefill : sample.running_decode) += account.in_step;
  }
  const std::uint32_t at_prefill = depth(Role::prefill, "bootstrap") + depth(Role::prefill, "waiting");
  sample.waiting_prefill = at_prefill - std::min(at_prefill, sample.computing_prefill);
  sample.in_transfer = depth(Role::prefill, "inflight");
  for (const Role role : {Role::decode, Role::aggregated}) {
    sample.waiting_decode += depth(role, "ready") + depth(role, "retracted");
  }
  const Totals now = totals();
  const double span = seconds(sample.time - last_time_);
  std::uint32_t prefill = 0;
  std::uint32_t decode = 0;
  double pages = 0;
  double used = 0;
  for (const auto& [rank, account] : world_.accounts) {
    ++(computes_prompts(rank) ? prefill : decode);
    const KvPool& pool = *world_.node.pool(rank);
    const std::uint32_t taken = pool.capacity() - pool.available();
    pages_used_max_[rank] = std::max(pages_used_max_[rank], taken);
    pages += computes_prompts(rank) ? 0 : pool.capacity();
    used += computes_prompts(rank) ? 0 : taken;
  }
  const auto share = [span](Duration busy, std::uint32_t ranks) {
    return ranks == 0 || span <= 0 ? 0 : std::min(1.0, seconds(busy) / span / ranks);
  };
  sample.prefill_busy = share(now.prefill_busy - last_.prefill_busy, prefill);
  sample.decode_busy = share(now.decode_busy - last_.decode_busy, decode);
  const double capacity = link_capacity() * span;
  sample.links_busy = capacity > 0 ? (now.link_bytes - last_.link_bytes) / capacity : 0;
  sample.pages_used = pages > 0 ? used / pages : 0;
  last_ = now;
  last_time_ = sample.time;
  samples_.push_back(sample);
}

ClusterSampler::Totals ClusterSampler::totals() const {
  Totals totals;
  for (const auto& [rank, account] : world_.accounts) {
    (computes_prompts(rank) ? totals.prefill_busy : totals.decode_busy) += account.busy;
  }
  for (LinkIndex link = 0; link < world_.network.links(); ++link) {
    totals.link_bytes += world_.network.carried(link, world_.context.now());
  }
  return totals;
}

double ClusterSampler::link_capacity() const {
  double capacity = 0;
  for (LinkIndex link = 0; link < world_.network.links(); ++link) {
    capacity += world_.network.capacity(link);
  }
  return capacity;
}

std::uint32_t ClusterSampler::depth(Role role, const char* queue) {
  std::vector<Gauge*>& gauges = gauges_[{role, queue}];
  if (gauges.empty()) {
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
