#include "sim/cluster/plan_cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"
#include "sim/cluster/cluster_cost.h"

namespace baton::sim {
namespace {

constexpr std::uint32_t kAtOnceMax = 1U << 20;  // requests of a router, rooms of a rank: more than any load brings
constexpr std::uint64_t kPagesMax = (1U << 31) - 1;

// One layer and one head of as many half floats as a token's keys and values take together: the books need its bytes.
KvLayout layout_of(const ClusterSpec& spec) {
  KvLayout layout;
  layout.layers = 1;
  layout.kv_heads = 1;
  const double token_bytes = handover_bytes(spec, spec.page_tokens) / spec.page_tokens;
  layout.head_dim = static_cast<std::uint32_t>(std::max(1.0, std::round(token_bytes / 4)));
  layout.page_tokens = spec.page_tokens;
  layout.type = KvType::f16;
  return layout;
}

PoolPlan plan_pool(const PoolSpec& pool, std::uint32_t page_tokens, std::vector<std::string>& warnings) {
  PoolPlan plan;
  plan.ranks = pool.ranks;
  plan.cost = make_cost_model(pool);
  plan.group = pool.setup.parallel.dp;
  plan.speculation = pool.setup.speculation;
  plan.host_bytes_per_s = pool.setup.hardware.pcie_bytes_per_s * pool.setup.parallel.rank_gpus();
  if (pool.ranks % plan.group != 0) {
    throw Error(Errc::invalid_argument, fmt::format("{} {} ranks do not divide into groups of dp = {}", pool.ranks,
                                                    to_string(pool.role), plan.group));
  }
  const KvCapacity capacity = kv_capacity(pool);
  plan.pages = static_cast<std::uint32_t>(std::min(capacity.tokens / page_tokens, kPagesMax));
  if (plan.pages == 0) {
    throw Error(Errc::too_large, fmt::format("a {} rank has no room for a page of {} tokens: {}", to_string(pool.role),
                                             page_tokens, capacity.arithmetic));
  }
  if (capacity.computed) {
    warnings.push_back(
        fmt::format("{}: KV capacity was derived, not given: {}", to_string(pool.role), capacity.arithmetic));
  }
  return plan;
}

// Gives ranks of that role from `first` on their places, and returns the index behind the last.
std::uint32_t place_ranks(const PoolSpec& pool, RankId first, const LinkSpec& links, ClusterPlan& plan,
                          std::uint32_t& node) {
  for (std::uint32_t i = 0; i < pool.ranks; ++i) {
    RankPlace place;
    place.rank = {first.role, first.index + i};
    place.node = node + i / pool.node_ranks;
    place.group = place.node / links.spine_nodes;
    place.tp = pool.setup.parallel.tp;
    place.nic_bytes_per_s = pool.nic_bytes_per_s;
    place.nvlink_bytes_per_s = pool.nvlink_bytes_per_s;
    plan.places.push_back(place);
  }
  node += (pool.ranks + pool.node_ranks - 1) / pool.node_ranks;
  return first.index + pool.ranks;
}

void place_all(const ClusterSpec& spec, ClusterPlan& plan) {
  std::uint32_t node = 0;
  for (const Role role : {Role::prefill, Role::decode}) {
    std::uint32_t next = 0;
    for (const PoolSpec* pool : spec.pools(role)) {
      next = place_ranks(*pool, {role, next}, spec.links, plan, node);
    }
  }
}

void configure_roles(const ClusterSpec& spec, ClusterPlan& plan) {
  if (spec.prefill) {
    plan.prefill_config.steps_in_flight = spec.prefill->setup.parallel.pp;
    plan.prefill_config.step = {spec.prefill->limits.step_tokens, spec.prefill->limits.step_sequences};
  }
  plan.prefill_config.rooms_max = kAtOnceMax;
  const PoolLimits& limits = spec.decode.limits;
  plan.decode_config.steps_in_flight = limits.steps_in_flight;
  plan.decode_config.even_steps = limits.even_steps;
  plan.decode_config.running_max = limits.running_max;
  plan.decode_config.admission.lookahead_tokens = limits.lookahead_tokens;
  plan.decode_config.admission.active_max = kAtOnceMax;
  plan.decode_config.step.step_tokens = limits.step_tokens;
  plan.decode_config.waiting_max = limits.waiting_max;
  plan.decode_config.plan_ahead = limits.plan_ahead;
  plan.decode_config.retraction = limits.retraction;
  plan.decode_config.victims = limits.victims;
  plan.router_config.routing = spec.routing;
  plan.router_config.open_max = kAtOnceMax;
  plan.router_config.time_limit = spec.time_limit;
}

}  // namespace

std::uint32_t ClusterPlan::ranks(Role role) const noexcept {
  std::uint32_t count = role == Role::prefill ? prefill.ranks : decode.ranks;
  for (const PoolPlan& pool : role == Role::prefill ? more_prefill : more_decode) {
    count += pool.ranks;
  }
  return count;
}

PlannedRank ClusterPlan::find(RankId rank) const {
  const PoolPlan* pool = rank.role == Role::prefill ? &prefill : &decode;
  std::uint32_t index = rank.index;
  for (const PoolPlan& next : rank.role == Role::prefill ? more_prefill : more_decode) {
    if (index < pool->ranks) {
      break;
    }
    index -= pool->ranks;
    pool = &next;
  }
  BATON_CHECK(index < pool->ranks, rank.index);
  return {*pool, index};
}

PlannedCluster plan_cluster(const ClusterSpec& spec, std::uint64_t seed) {
  PlannedCluster planned;
  ClusterPlan& plan = planned.plan;
  plan.aggregated = spec.aggregated();
  plan.layout = layout_of(spec);
  if (spec.prefill) {
    plan.prefill = plan_pool(*spec.prefill, spec.page_tokens, planned.warnings);
  }
  plan.decode = plan_pool(spec.decode, spec.page_tokens, planned.warnings);
  for (const PoolSpec& pool : spec.more_prefill) {
    plan.more_prefill.push_back(plan_pool(pool, spec.page_tokens, planned.warnings));
  }
  for (const PoolSpec& pool : spec.more_decode) {
    plan.more_decode.push_back(plan_pool(pool, spec.page_tokens, planned.warnings));
  }
  if (spec.context_tokens != 0) {
    plan.context_length = spec.context_tokens;
  }
  configure_roles(spec, plan);
  plan.prefix_cache = spec.prefill ? spec.prefill->prefix_cache : spec.decode.prefix_cache;
  plan.network = {spec.links.infinite, spec.links.spine_bytes_per_s, spec.links.latency, spec.links.per_message};
  plan.stream_layers = spec.links.streaming == Streaming::layer;
  plan.model_layers = spec.model.layers;
  if (spec.prefill) {
    place_all(spec, plan);
  }
  plan.seed = seed;
  plan.router_config.seed = seed;
  return planned;
}

}  // namespace baton::sim
