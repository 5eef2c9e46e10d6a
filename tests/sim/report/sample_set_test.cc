#include "sim/report/sample_set.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"

using namespace baton;
using namespace baton::sim;

TEST_CASE("SampleSet: quantiles lie linearly between the sorted values") {
  SampleSet samples;
  for (const double value : {40.0, 10.0, 30.0, 20.0}) {
    samples.add(value);
  }
  const std::vector<double> shares{0.0, 0.5, 0.9, 1.0};
  const std::vector<double> found = samples.quantiles(shares);
  CHECK(found[0] == doctest::Approx(10));
  CHECK(found[1] == doctest::Approx(25));
  CHECK(found[2] == doctest::Approx(37));
  CHECK(found[3] == doctest::Approx(40));
  CHECK(samples.mean() == doctest::Approx(25));
  CHECK(samples.max() == doctest::Approx(40));
}

TEST_CASE("SampleSet: without values everything is zero") {
  const SampleSet empty;
  CHECK(empty.quantiles(std::vector<double>{0.5})[0] == 0.0);
  CHECK(empty.mean() == 0.0);
  CHECK(empty.max() == 0.0);
  CHECK(empty.confidence95() == 0.0);
}

TEST_CASE("SampleSet: the interval of independent values holds their mean in about 95 of 100 sets") {
  int held = 0;
  double width = 0.0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    SampleSet samples;
    for (int i = 0; i < 2000; ++i) {
      samples.add(random.unit());
    }
    const double half = samples.confidence95();
    held += std::abs(samples.mean() - 0.5) <= half ? 1 : 0;
    width += half / 400;
  }
  CHECK(held > 360);
  CHECK(held < 396);
  CHECK(width == doctest::Approx(2.09 * std::sqrt(1.0 / 12 / 2000)).epsilon(0.05));
}
