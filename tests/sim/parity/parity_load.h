// The load and the clusters of the parity tests: 500 requests of a real trace, made small, and clusters whose pages are
// short.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/workload/open_trace.h"
#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {

inline constexpr std::uint32_t kPageTokens = 8;
inline constexpr std::size_t kRequests = 500;

// The first 500 of Mooncake's conversations with prompts a 64th as long, blocks of eight tokens in place of 512 (so
// that they share what they shared), answers a 16th as long, spread over `length` and shifted to odd nanoseconds.
inline std::vector<TraceRequest> parity_requests(Duration length) {
  TraceOptions options;
  options.spread = true;
  options.first = kRequests;
  const auto source = open_trace("examples/traces/mooncake_conversation.jsonl.gz", options);
  std::vector<TraceRequest> requests;
  while (std::optional<TraceRequest> request = source->next()) {
    request->input_tokens = std::max(1U, request->input_tokens / 64);
    request->block_tokens = kPageTokens;
    request->output_tokens = std::max(1U, request->output_tokens / 16);
    request->id = std::to_string(requests.size());
    requests.push_back(std::move(*request));
  }
  const double scale = static_cast<double>(length.count()) / static_cast<double>(requests.back().arrival.count());
  for (TraceRequest& request : requests) {
    request.arrival = Duration(static_cast<std::int64_t>(scale * static_cast<double>(request.arrival.count())));
  }
  return requests;
}

// Two prefill ranks and two decode ranks with links of 20 MB/s between them, or three that do both; 4,000 pages each.
inline ClusterPlan parity_plan(bool aggregated, const LinearCost& cost) {
  ClusterPlan plan = small_plan(aggregated ? 0 : 2, aggregated ? 3 : 2, 4000);
  plan.aggregated = aggregated;
  plan.layout = small_layout(kPageTokens);
  plan.context_length = 4096;
  plan.prefill.cost = plan.decode.cost = std::make_shared<LinearCost>(cost);
  plan.network.latency = std::chrono::microseconds(50);
  for (RankPlace& place : plan.places) {
    place.nic_bytes_per_s = 2e7;
  }
  plan.prefix_cache = true;
  plan.prefill_config.step.step_tokens = 256;
  plan.decode_config.step.step_tokens = 256;
  plan.decode_config.running_max = 12;
  plan.decode_config.admission.lookahead_tokens = 16;
  plan.router_config.routing = policy::Routing::prefix_aware;
  plan.seed = 11;
  return plan;
}

}  // namespace baton::sim
