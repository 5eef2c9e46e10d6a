// The tables [prefill], [decode] and [aggregated] of a cluster file. Used by cluster_spec_reader.cc alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/errors.h"
#include "sim/cluster/cluster_spec.h"
#include "sim/cost/table_reader.h"

namespace baton::sim {

// What the pools take from the rest of the file: `cluster` has its model, precision and links already.
struct PoolContext {
  const ClusterSpec& cluster;
  std::string folder;                // of the cluster file
  std::optional<double> nic_gbytes;  // settings of [links] that stand for every pool
  std::optional<double> nvlink_gbytes;
  const PoolSpec* first = nullptr;  // of the pools of that role, if this is a further one
};

// Throws Error for what is unknown, missing, without effect, impossible, or does not fit.
PoolSpec read_pool(TableReader pool, PoolRole role, const PoolContext& shared);

// What `load` makes of the name or path that the key gives; what it has against that is said of the key.
template <class Load>
auto named_file(const TableReader& table, std::string_view key, Load load, const std::string& name) {
  try {
    return load(name);
  } catch (const Error& error) {
    table.refuse(key, error.what());
  }
}

// `value` units of unit_ns nanoseconds, to the nearest one.
Duration duration_of(double value, double unit_ns);

}  // namespace baton::sim
