// Clusters that were measured one half at a time: a load that keeps the half busy, and another half that is never in
// the way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/run_cluster.h"
#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {

// `count` requests, all there from the beginning.
inline std::vector<TraceRequest> equal_requests(std::uint32_t count, std::uint32_t input, std::uint32_t output) {
  std::vector<TraceRequest> requests(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    requests[i].id = std::to_string(i);
    requests[i].input_tokens = input;
    requests[i].output_tokens = output;
  }
  return requests;
}

// Prompts are there as good as at once: a rank with all the memory that may be wanted, and links without limit.
inline void take_prefill_out_of_the_way(ClusterSpec& cluster) {
  PoolSpec& pool = *cluster.prefill;
  pool.ranks = 8;
  pool.setup.parallel = {};
  pool.setup.redundant_experts = 0;
  pool.setup.two_batch_overlap = false;
  pool.setup.hardware.memory_bytes = 1e18;
  pool.kv_tokens = 1U << 24;
  pool.cost = {};
  pool.cost.kind = CostKind::law;
  pool.cost.law.prefill = {0.01, 0, 0};
  pool.limits.step_tokens = 1U << 22;
  pool.limits.step_sequences = 1U << 10;
  cluster.links.infinite = true;
}

struct Throughput {
  double prompt_tokens_per_s = 0;   // of all ranks, over the whole run
  double decoded_tokens_per_s = 0;  // of all ranks, over the middle half of the run; first tokens are prefill's
  std::uint64_t failures = 0;
};

inline Throughput throughput(const ClusterSpec& cluster, std::vector<TraceRequest> requests) {
  struct Answer {
    double begin = 0;
    double end = 0;
    double tokens = 0;
  };
  std::vector<Answer> answers;
  std::uint64_t prompts = 0;
  Throughput seen;
  RunOptions options;
  options.on_record = [&](const RequestRecord& record) {
    prompts += record.prompt_tokens;
    seen.failures += record.ok() ? 0 : 1;
    if (record.output_tokens > 1) {
      answers.push_back({record.arrival_s + record.ttft_ms / 1e3, record.arrival_s + record.e2e_ms / 1e3,
                         static_cast<double>(record.output_tokens - 1)});
    }
  };
  ListSource source(std::move(requests));
  const double took = seconds(run_cluster(cluster, source, options).result.simulated);
  seen.prompt_tokens_per_s = static_cast<double>(prompts) / took;
  for (const Answer& answer : answers) {
    const double within = std::min(answer.end, 0.75 * took) - std::max(answer.begin, 0.25 * took);
    seen.decoded_tokens_per_s += answer.tokens * std::max(0.0, within) / (answer.end - answer.begin) / (took / 2);
  }
  return seen;
}

}  // namespace baton::sim
