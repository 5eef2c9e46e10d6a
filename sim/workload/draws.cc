#include "sim/workload/draws.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/check.h"

namespace baton::sim {
namespace {

// In (0, 1): the logarithm of it is finite.
double open_unit(Random& random) noexcept {
  return 1.0 - random.unit();
}

double draw_gamma_of_shape(Random& random, double shape) noexcept {
  if (shape < 1) {  // section 6 of the paper: from one of shape + 1
    const double larger = draw_gamma_of_shape(random, shape + 1);
    return larger * std::pow(open_unit(random), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    const double u = open_unit(random);
    if (root <= 0) {
      continue;
    }
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

}  // namespace

double draw_exponential(Random& random, double mean) noexcept {
  return -mean * std::log(open_unit(random));
}

double draw_normal(Random& random) noexcept {  // Box and Muller, the cosine half
  const double radius = std::sqrt(-2 * std::log(open_unit(random)));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

double draw_gamma(Random& random, double mean, double cv) noexcept {
  if (cv < 1e-6) {  // the shape would be more than a double can count in
    return mean;
  }
  const double shape = 1 / (cv * cv);
  return draw_gamma_of_shape(random, shape) * mean / shape;
}

double draw_log_normal(Random& random, double mean, double cv) noexcept {
  const double variance = std::log1p(cv * cv);
  return mean * std::exp(std::sqrt(variance) * draw_normal(random) - variance / 2);
}

Zipf::Zipf(std::size_t count, double exponent) {
  BATON_CHECK(count > 0);
  sums_.reserve(count);
  double sum = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    sum += std::pow(static_cast<double>(rank + 1), -exponent);
    sums_.push_back(sum);
  }
}

std::size_t Zipf::draw(Random& random) const noexcept {
  const double at = random.unit() * sums_.back();
  const auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
  return std::min(static_cast<std::size_t>(found - sums_.begin()), sums_.size() - 1);
}

}  // namespace baton::sim
