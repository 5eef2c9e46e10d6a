#include "sim/cluster/cluster_spec_keys.h"

#include <algorithm>
#include <array>

namespace baton::sim {
namespace {

template <std::size_t kCount>
bool is_of(std::string_view key, const std::array<std::string_view, kCount>& keys) {
  return std::ranges::find(keys, key) != keys.end();
}

// Keys of PoolLimits, and prefix_cache: what schedulers do, which is one setting for all ranks of a role.
constexpr std::array<std::string_view, 3> kPromptRules{"step_tokens", "step_sequences", "prefix_cache"};
constexpr std::array<std::string_view, 8> kDecodeRules{"running_max",     "lookahead_tokens", "waiting_max",
                                                       "steps_in_flight", "even_steps",       "plan_ahead",
                                                       "retraction",      "victims"};

std::string_view unused_by_role(PoolRole role, std::string_view key) {
  constexpr std::array<std::string_view, 3> kOfDecode{"running_tokens", "graph_batches", "speculation"};
  if (role == PoolRole::prefill && (is_of(key, kDecodeRules) || is_of(key, kOfDecode))) {
    return "it is of decode, and this pool computes prompts only";
  }
  if (role != PoolRole::prefill && key == "step_sequences") {
    return "only a pool that computes nothing but prompts counts them";
  }
  if (role == PoolRole::decode && key == "prefix_cache") {
    return "prompts are computed by the other pool";
  }
  return "";
}

std::string_view unused_by_others(bool further, std::string_view key) {
  const bool shared = is_of(key, kPromptRules) || is_of(key, kDecodeRules);
  return further && shared ? "the first of these pools says it for all of them" : "";
}

std::string_view unused_by_experts(const StepSetup& setup, std::string_view key) {
  constexpr std::array<std::string_view, 3> kExperts{"redundant_experts", "expert_skew", "expert_alpha"};
  constexpr std::array<std::string_view, 4> kGroup{"all_to_all", "wire_slowdown", "overlap", "overlap_efficiency"};
  if (is_of(key, kExperts) && !setup.model.is_mixture()) {
    return "the model has no experts";
  }
  if (is_of(key, kExperts) && setup.parallel.ep == 1) {
    return "with ep = 1 every expert is on every GPU";
  }
  if (is_of(key, kGroup) && setup.parallel.dp == 1) {
    return "with dp = 1 there is no group that exchanges tokens";
  }
  if (key == "overlap_efficiency" && !setup.two_batch_overlap) {
    return "nothing overlaps";
  }
  if (key == "wire_slowdown" && setup.all_to_all == AllToAll::normal && !setup.two_batch_overlap) {
    return "nothing computes beside the bulk all-to-all";
  }
  return "";
}

std::string_view unused_by_stages(const StepSetup& setup, std::string_view key) {
  const bool of_stages = key == "steps_in_flight" || key == "even_steps";
  return of_stages && setup.parallel.pp == 1 ? "without pipeline stages one step follows the other" : "";
}

std::string_view unused_by_cost(CostKind kind, std::string_view key) {
  constexpr std::array<std::string_view, 9> kParts{"host_overhead_us", "layer_gap_us",       "expert_skew",
                                                   "expert_alpha",     "all_to_all",         "wire_slowdown",
                                                   "overlap",          "overlap_efficiency", "redundant_experts"};
  if (kind == CostKind::law && is_of(key, kParts)) {
    return "a law has it in its coefficients";
  }
  if ((kind == CostKind::law || kind == CostKind::kernels) && (key == "graph_batches" || key == "speculation")) {
    return "this kind of cost does not know it";
  }
  return "";
}

std::string_view unused_by_links(PoolRole role, const LinkSpec& links, std::string_view key) {
  constexpr std::array<std::string_view, 3> kRates{"nic_gbytes_per_s", "nvlink_gbytes_per_s", "node_ranks"};
  if (!is_of(key, kRates)) {
    return "";
  }
  return role == PoolRole::aggregated ? "nothing is handed over in an aggregated cluster"
         : links.infinite             ? "infinite links have no rate"
                                      : "";
}

}  // namespace

std::string_view no_effect(const PoolSpec& pool, const LinkSpec& links, std::string_view key) {
  for (const std::string_view why : {unused_by_role(pool.role, key), unused_by_others(pool.further, key),
                                     unused_by_experts(pool.setup, key), unused_by_stages(pool.setup, key),
                                     unused_by_cost(pool.cost.kind, key), unused_by_links(pool.role, links, key)}) {
    if (!why.empty()) {
      return why;
    }
  }
  return "";
}

}  // namespace baton::sim
