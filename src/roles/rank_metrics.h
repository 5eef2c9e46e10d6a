// The gauges and counters of one rank, looked up once and updated from its loop.
//
// Every queue, page state and step of a rank is visible under `baton_` names with the labels role and rank; the values
// are atomics in the registry, so /metrics reads them from another thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/kv/kv_pool.h"
#include "runtime/ids.h"
#include "runtime/metrics.h"
#include "runtime/time.h"

namespace baton {

class RankMetrics final {
 public:
  RankMetrics(MetricsRegistry& registry, RankId rank);

  void queue(std::string_view name, std::size_t depth);  // baton_queue_depth{queue}
  void pool(const KvPool& pool);                         // baton_kv_pages{state}, baton_prefix_pages_..._total
  void step(Duration took, std::uint64_t times = 1);     // baton_step_seconds
  void tokens(std::size_t count);                        // baton_computed_tokens_total
  void failure();                                        // baton_failed_rooms_total
  void retraction();                                     // baton_retractions_total

 private:
  void cache(const KvPool& pool);
  Labels labels_with(std::string key, std::string value) const;

  MetricsRegistry* registry_;
  Labels labels_;
  std::vector<std::pair<std::string, Gauge*>> queues_;  // a handful, looked through at every step
  Gauge* free_pages_;
  Gauge* leased_pages_;
  Gauge* quarantined_pages_;
  Histogram* step_seconds_;
  Counter* computed_tokens_;
  Counter* failures_;
  Counter* retractions_;
  Gauge* cached_pages_ = nullptr;  // this and the next three only where there is a cache
  Counter* asked_ = nullptr;
  Counter* found_ = nullptr;
  Counter* evicted_ = nullptr;
  CacheCounts counted_;  // what the three counters have
};

}  // namespace baton
