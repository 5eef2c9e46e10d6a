#include "sim/cluster/cluster_cost.h"

#include "runtime/check.h"
#include "sim/cost/kernel_model.h"
#include "sim/cost/step_model.h"

namespace baton::sim {

std::unique_ptr<CostModel> make_cost_model(const PoolSpec& pool) {
  const CostSpec& cost = pool.cost;
  switch (cost.kind) {
    case CostKind::roofline:
      return make_roofline_model(pool.setup);
    case CostKind::fitted:
      return make_fitted_model(pool.setup);
    case CostKind::kernels:
      return make_kernel_model(pool.setup,
                               {cost.resolve(cost.attention), cost.resolve(cost.dense), cost.resolve(cost.per_sequence),
                                cost.skew_fit.empty() ? "" : cost.resolve(cost.skew_fit)});
    case CostKind::operators:
      return make_operator_model(pool.setup, OperatorTables::read(cost.resolve(cost.folder), pool.setup));
    case CostKind::law:
      return make_law_model(cost.law, pool.setup.parallel.pp);
  }
  BATON_CHECK(false, static_cast<int>(cost.kind));
  return nullptr;
}

KvCapacity kv_capacity(const PoolSpec& pool) {
  MemorySetup memory;
  memory.kv_tokens = pool.kv_tokens;
  memory.fraction = pool.memory_fraction;
  memory.activation_gib = pool.activation_gib;
  memory.graph_gib = pool.graph_gib;
  memory.collective_gib = pool.collective_gib;
  memory.sequences = pool.role == PoolRole::prefill ? pool.limits.step_sequences : pool.limits.running_max;
  return kv_capacity(pool.setup, memory);
}

double handover_bytes(const ClusterSpec& cluster, std::uint64_t tokens) {
  return cluster.model.kv_bytes(tokens, cluster.precision.kv);
}

}  // namespace baton::sim
