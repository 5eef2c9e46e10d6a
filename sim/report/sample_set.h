// SampleSet: the values of one measure over a run, as floats, and what is said of them.
//
// Mean and batch means come from the values in the order in which they were added; quantiles sort a copy, so ask for
// several at a time. A value.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace baton::sim {

class SampleSet final {
 public:
  void add(double value) {
    values_.push_back(static_cast<float>(value));
    sum_ += value;
  }

  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  std::span<const float> values() const noexcept { return values_; }

  double mean() const noexcept { return empty() ? 0.0 : sum_ / static_cast<double>(size()); }
  double max() const noexcept;

  // The values below which each share lies, linearly between neighbours (type 7 of R. Hyndman and Y. Fan, "Sample
  // quantiles in statistical packages", 1996); shares in [0, 1]. Zeros without values.
  std::vector<double> quantiles(std::span<const double> shares) const;

  // Half the width of a 95 % confidence interval of the mean by batch means (A. Law, "Simulation Modeling and
  // Analysis", section 9.5.3): 20 batches of successive values, whose means are nearly independent where batches are
  // long against the memory of the queues. Zero with fewer than 200 values: too few to say anything.
  double confidence95() const;

 private:
  std::vector<float> values_;
  double sum_ = 0.0;
};

}  // namespace baton::sim
