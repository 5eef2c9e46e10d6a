#include "roles/rank_metrics.h"

#include <algorithm>
#include <utility>

#include "runtime/mutants.h"

namespace baton {
namespace {

constexpr const char* kPagesHelp = "Pages of the rank's KV pool by state";

std::vector<double> step_buckets() {
  return exponential_buckets(0.0005, 2, 14);
}

}  // namespace

RankMetrics::RankMetrics(MetricsRegistry& registry, RankId rank)
    : registry_(&registry), labels_{{"role", to_string(rank.role)}, {"rank", std::to_string(rank.index)}} {
  free_pages_ = &registry.gauge("baton_kv_pages", kPagesHelp, labels_with("state", "free"));
  leased_pages_ = &registry.gauge("baton_kv_pages", kPagesHelp, labels_with("state", "leased"));
  quarantined_pages_ = &registry.gauge("baton_kv_pages", kPagesHelp, labels_with("state", "quarantined"));
  step_seconds_ =
      &registry.histogram("baton_step_seconds", "Engine steps as the rank sees them", step_buckets(), labels_);
  computed_tokens_ = &registry.counter("baton_computed_tokens_total", "Rows computed in engine steps", labels_);
  failures_ = &registry.counter("baton_failed_rooms_total", "Rooms that ended with a failure on this rank", labels_);
  retractions_ = &registry.counter("baton_retractions_total", "Running requests that gave their pages back", labels_);
}

void RankMetrics::queue(std::string_view name, std::size_t depth) {
  auto found = std::ranges::find(queues_, name, &std::pair<std::string, Gauge*>::first);
  if (found == queues_.end()) {
    Gauge& gauge =
        registry_->gauge("baton_queue_depth", "Requests in a rank's queue", labels_with("queue", std::string(name)));
    found = queues_.emplace(queues_.end(), std::string(name), &gauge);
  }
  found->second->set(static_cast<double>(depth));
}

void RankMetrics::pool(const KvPool& pool) {
  free_pages_->set(pool.free());
  leased_pages_->set(pool.leased());
  quarantined_pages_->set(pool.quarantined());
  if (pool.has_cache()) {
    cache(pool);
  }
}

// Ranks whose pool has no cache do not show one.
void RankMetrics::cache(const KvPool& pool) {
  if (cached_pages_ == nullptr) {
    cached_pages_ = &registry_->gauge("baton_kv_pages", kPagesHelp, labels_with("state", "cached"));
    asked_ = &registry_->counter("baton_prefix_pages_asked_total",
                                 "Whole pages of prompts that the prefix cache was asked for", labels_);
    found_ = &registry_->counter("baton_prefix_pages_found_total",
                                 "Of the pages asked for, those that need not be computed again", labels_);
    evicted_ = &registry_->counter("baton_prefix_pages_evicted_total",
                                   "Cached pages that were taken back for other uses", labels_);
  }
  const CacheCounts& counts = pool.cache_counts();
  cached_pages_->set(pool.cached());
  asked_->add(counts.asked - counted_.asked);
  found_->add(counts.found - counted_.found);
  evicted_->add(counts.evicted - counted_.evicted);
  counted_ = counts;
}

void RankMetrics::step(Duration took, std::uint64_t times) {
  step_seconds_->observe(seconds(took), times);
}

void RankMetrics::tokens(std::size_t count) {
  computed_tokens_->add(count);
}

void RankMetrics::failure() {
  failures_->add();
}

void RankMetrics::retraction() {
  if (!mutant(Mutant::retractions_uncounted)) {
    retractions_->add();
  }
}

Labels RankMetrics::labels_with(std::string key, std::string value) const {
  Labels labels = labels_;
  labels.emplace_back(std::move(key), std::move(value));
  return labels;
}

}  // namespace baton
