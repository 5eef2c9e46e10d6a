// Which settings of a pool mean something, given the others: the reader refuses those that do not, the writer leaves
// them out.
#pragma once

#include <string_view>

#include "sim/cluster/cluster_spec.h"

namespace baton::sim {

// Why `key` of this pool's table would have no effect; empty: it has one. Needs role, model, parallelism, the kind of
// cost, the all-to-all and overlap to be set.
std::string_view no_effect(const PoolSpec& pool, const LinkSpec& links, std::string_view key);

}  // namespace baton::sim
