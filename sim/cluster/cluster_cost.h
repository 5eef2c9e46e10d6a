// What a pool of a cluster file costs and holds: the cost model and the capacity it asks for.
#pragma once

#include <memory>

#include "sim/cluster/cluster_spec.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/kv_capacity.h"

namespace baton::sim {

// The cost model of one rank (and of its group). Reads the pool's table files; throws Error for bad ones.
std::unique_ptr<CostModel> make_cost_model(const PoolSpec& pool);

// Tokens one rank holds. Throws Error(too_large) with the arithmetic for what does not fit; parse_cluster() has asked
// already.
KvCapacity kv_capacity(const PoolSpec& pool);

// Bytes that a hand-over of `tokens` moves between two ranks, all layers together: of the distinct parts only, so that
// a latent cache counts once however many GPUs hold it.
double handover_bytes(const ClusterSpec& cluster, std::uint64_t tokens);

}  // namespace baton::sim
