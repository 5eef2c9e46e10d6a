// Two clusters under the same requests, side by side: paired runs, and how sure the differences are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.h"
#include "sim/cluster/run_cluster.h"
#include "sim/workload/request.h"

namespace baton::sim {

struct CompareOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;  // pairs of runs
  // The requests under a seed: the same for both clusters.
  std::function<std::unique_ptr<RequestSource>(std::uint64_t seed)> open;
  std::function<bool(const RunProgress&)> go_on = {};  // false ends the comparison
};

// One figure of both clusters, by pair.
struct ComparedMeasure {
  std::string name;
  std::string unit;
  std::vector<double> a;
  std::vector<double> b;

  double mean_a() const noexcept;
  double mean_b() const noexcept;
  // Half the width of the 95 % interval of the mean of b - a, by Student's t over the pairs; nothing below two pairs.
  std::optional<double> difference_ci95() const;
};

struct Comparison {
  std::string name_a;
  std::string name_b;
  std::string hash_a;
  std::string hash_b;
  std::uint64_t pairs = 0;
  std::vector<ComparedMeasure> measures;
};

// Nothing when go_on() ended it. Throws as run_cluster() does.
std::optional<Comparison> compare_runs(const ClusterSpec& a, const ClusterSpec& b, const CompareOptions& options);

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);

}  // namespace baton::sim
