// Looks at a simulated cluster from time to time and keeps what it saw: the curves of a report.
//
// Keeps a bounded number of samples: when there are too many it drops every other one and looks half as often.
#pragma once

#include <cstdint>
#include <vector>

#include "roles/node.h"
#include "runtime/context.h"
#include "runtime/metrics.h"
#include "runtime/task.h"
#include "sim/cluster/engine_account.h"
#include "sim/network/fluid.h"
#include "sim/report/run_result.h"

namespace baton::sim {

// What the sampler looks at. All of it outlives it.
struct SampledWorld {
  Context& context;
  Node& node;
  MetricsRegistry& metrics;
  const std::map<RankId, EngineAccount>& accounts;
  FluidNetwork& network;
};

class ClusterSampler final {
 public:
  ClusterSampler(SampledWorld world, Duration period, std::size_t samples_max);

  // Looks once a period. Spawned once; runs until cancelled.
  Task<> run();

  const std::vector<ClusterSample>& samples() const noexcept { return samples_; }

  // The most pages that were in use at once in each rank's pool, of the instants looked at.
  const std::map<RankId, std::uint32_t>& pages_used_max() const noexcept { return pages_used_max_; }

 private:
  struct Totals {
    Duration prefill_busy{};
    Duration decode_busy{};
    double link_bytes = 0;
  };

  // What is looked at of one rank, found once: a sample of a large cluster costs a glance at each rank.
  struct Watched {
    const EngineAccount* account = nullptr;
    const KvPool* pool = nullptr;
    std::uint32_t* pages_used_max = nullptr;
    bool prompts = false;  // it computes nothing but prompts
  };

  void find_ranks();  // and links
  void look();
  double link_bytes() const;
  std::uint32_t depth(Role role, const char* queue);
  void thin_out();

  SampledWorld world_;
  Duration period_;
  std::size_t samples_max_;
  std::vector<ClusterSample> samples_;
  std::map<RankId, std::uint32_t> pages_used_max_;
  std::vector<Watched> ranks_;
  std::uint32_t prefill_ranks_ = 0;
  std::uint32_t decode_ranks_ = 0;
  double link_capacity_ = 0;
  std::map<std::pair<Role, std::string>, std::vector<Gauge*>> gauges_;
  Totals last_;
  TimePoint last_time_{};
};

}  // namespace baton::sim
