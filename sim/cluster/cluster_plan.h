// A cluster to simulate, ready to be built: the runtime's own settings, and what steps cost and links carry.
//
// Where a cluster file is read, ClusterSpec is its text in values and this is what became of it; tests make plans
// without files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/kv/kv_layout.h"
#include "roles/generation.h"
#include "roles/node.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/step_setup.h"
#include "sim/network/fluid_endpoint.h"
#include "sim/network/topology.h"
#include "sim/workload/request.h"

namespace baton::sim {

struct PoolPlan;

// One rank's kind, and its place among its like.
struct PlannedRank {
  const PoolPlan& pool;
  std::uint32_t index = 0;
};

struct PoolPlan {
  std::uint32_t ranks = 1;
  std::shared_ptr<const CostModel> cost;  // of one rank; shared by all of the pool
  std::uint32_t pages = 0;                // KV pages of one rank
  std::uint32_t group = 1;                // ranks that step together (step_group.h); divides `ranks`
  Speculation speculation{};              // of decode steps
  double host_bytes_per_s = 0;            // between a rank's memory and its host's; 0: retraction takes no time
};

// The ranks of one role may be of several kinds: those of `prefill` or `decode` first, by index, then each of
// `more_...`.
struct ClusterPlan {
  bool aggregated = false;  // the decode pool's ranks do both, and there is no prefill pool
  PoolPlan prefill;
  PoolPlan decode;
  std::vector<PoolPlan> more_prefill;
  std::vector<PoolPlan> more_decode;
  KvLayout layout;
  std::uint32_t context_length = 1U << 24;  // prompt and output together
  PrefillConfig prefill_config;
  DecodeConfig decode_config;
  RouterConfig router_config;
  bool prefix_cache = false;  // requests name the pages of their prompts, and ranks that compute prompts keep them
  NetworkConfig network;
  std::vector<RankPlace> places;   // of all ranks; empty on an aggregated cluster
  bool stream_layers = false;      // parts of a chunk set out layer by layer while it is computed
  std::uint32_t model_layers = 1;  // for that
  std::uint64_t seed = 0;

  std::uint32_t ranks(Role role) const noexcept;
  PlannedRank find(RankId rank) const;
};

// The settings of the node, the same for one in virtual time and one on threads.
NodeConfig node_config(const ClusterPlan& plan);

// What the client of the number-th request, from one, asks the node for.
GenerationRequest to_generation(const ClusterPlan& plan, const TraceRequest& request, std::uint64_t number,
                                Prompt prompt);

}  // namespace baton::sim
