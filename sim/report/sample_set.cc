#include "sim/report/sample_set.h"

#include <algorithm>
#include <cmath>

namespace baton::sim {
namespace {

constexpr std::size_t kBatches = 20;
constexpr std::size_t kFewest = 200;
constexpr double kStudent95 = 2.093;  // Student's t with 19 degrees of freedom, two-sided

}  // namespace

double SampleSet::max() const noexcept {
  return empty() ? 0.0 : static_cast<double>(*std::ranges::max_element(values_));
}

std::vector<double> SampleSet::quantiles(std::span<const double> shares) const {
  std::vector<float> sorted = values_;
  std::ranges::sort(sorted);
  std::vector<double> found;
  for (const double share : shares) {
    if (sorted.empty()) {
      found.push_back(0.0);
      continue;
    }
    const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double part = place - static_cast<double>(below);
    found.push_back(static_cast<double>(sorted[below]) * (1.0 - part) + static_cast<double>(sorted[above]) * part);
  }
  return found;
}

double SampleSet::confidence95() const {
  if (values_.size() < kFewest) {
    return 0.0;
  }
  const std::size_t batch = values_.size() / kBatches;
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < kBatches; ++i) {
    double total = 0.0;
    for (const float value : values().subspan(i * batch, batch)) {
      total += static_cast<double>(value);
    }
    const double mean = total / static_cast<double>(batch);
    sum += mean;
    squares += mean * mean;
  }
  const double mean = sum / kBatches;
  const double variance = std::max(0.0, (squares - kBatches * mean * mean) / (kBatches - 1));
  return kStudent95 * std::sqrt(variance / kBatches);
}

}  // namespace baton::sim
