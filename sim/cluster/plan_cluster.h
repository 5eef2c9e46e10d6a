// From what a cluster file says to what can be built.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster_plan.h"
#include "sim/cluster/cluster_spec.h"

namespace baton::sim {

struct PlannedCluster {
  ClusterPlan plan;
  std::vector<std::string> warnings;  // for people: what was derived and not given, with the arithmetic
};

// Reads the tables that the cluster's cost models need. Throws Error for what cannot be: a bad table, a pool without
// room for a page, ranks that do not divide into groups.
PlannedCluster plan_cluster(const ClusterSpec& spec, std::uint64_t seed);

}  // namespace baton::sim
