// The correction of attention times for batches whose contexts differ: alpha by bucket. See kernel_model.h.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/cost/step_load.h"

namespace baton::sim {

class SkewTable final {
 public:
  SkewTable() = default;
  static SkewTable read(const std::string& path);

  // 0 without a table, and where there is nothing to correct: fewer than two sequences, or all of one length.
  double alpha(const StepLoad& load) const;

 private:
  static constexpr std::size_t kAxes = 5;  // chunk, decode count, skew rate, longest context, cached prefix
  using Bucket = std::array<double, kAxes>;

  std::array<std::vector<double>, kAxes> bounds_;  // upper bounds of the buckets, ascending
  std::map<Bucket, double> alphas_;
  double otherwise_ = 0;  // mean by samples: for buckets that were not measured
};

}  // namespace baton::sim
