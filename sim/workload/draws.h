// Random numbers of the shapes that loads have, from a seeded generator: the same on every machine with the same
// mathematical library. Pure but for the generator.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/random.h"

namespace baton::sim {

double draw_exponential(Random& random, double mean) noexcept;
double draw_normal(Random& random) noexcept;  // mean 0, deviation 1

// Of a given mean and coefficient of variation (deviation divided by mean). cv 1 is exponential, cv 0 the mean itself.
// G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000.
double draw_gamma(Random& random, double mean, double cv) noexcept;
double draw_log_normal(Random& random, double mean, double cv) noexcept;

// Ranks 0..count-1, the k-th with a weight of 1 / (k + 1)^exponent; exponent 0 is uniform.
class Zipf final {
 public:
  Zipf(std::size_t count, double exponent);
  std::size_t draw(Random& random) const noexcept;

 private:
  std::vector<double> sums_;  // of the weights up to each rank
};

}  // namespace baton::sim
