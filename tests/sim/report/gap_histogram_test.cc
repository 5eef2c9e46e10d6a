#include "sim/report/gap_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"

using namespace baton;
using namespace baton::sim;

TEST_CASE("GapHistogram: every quantile is within a percent of the sorted values', at all scales") {
  Random random(3);
  for (const double scale : {1.0, 300.0, 1e6, 1e9, 1e15}) {
    CAPTURE(scale);
    GapHistogram histogram;
    std::vector<std::int64_t> values;
    double sum = 0.0;
    for (int i = 0; i < 5000; ++i) {
      const auto value = static_cast<std::int64_t>(scale * std::exp(3.0 * random.unit()));
      values.push_back(value);
      sum += static_cast<double>(value);
      histogram.add(Duration(value));
    }
    std::ranges::sort(values);
    for (const double q : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto place = static_cast<std::size_t>(std::max(1.0, std::ceil(q * 5000)));
      const double exact = static_cast<double>(values[place - 1]);
      CHECK(std::abs(static_cast<double>(histogram.quantile(q).count()) - exact) <= 0.004 * exact);
    }
    CHECK(histogram.max() == Duration(values.back()));
    CHECK(histogram.mean() == Duration(std::llround(sum / 5000)));
    CHECK(histogram.count() == 5000);
  }
}

TEST_CASE("GapHistogram: small gaps are exact, and many equal ones count as one by one") {
  GapHistogram one_by_one;
  GapHistogram at_once;
  for (int i = 0; i < 7; ++i) {
    one_by_one.add(Duration(200));
  }
  one_by_one.add(Duration(0));
  at_once.add(Duration(200), 7);
  at_once.add(Duration(0), 1);
  at_once.add(Duration(999), 0);
  CHECK(at_once.quantile(0.1) == Duration(0));
  CHECK(at_once.quantile(0.5) == Duration(200));
  CHECK(at_once.max() == one_by_one.max());
  CHECK(at_once.mean() == one_by_one.mean());
}

TEST_CASE("GapHistogram: added histograms are one, and the distribution rises to one") {
  GapHistogram both;
  GapHistogram other;
  both.add(Duration(1000), 3);
  other.add(Duration::max(), 1);
  both.add(other);
  CHECK(both.count() == 4);
  CHECK(both.quantile(0.75) <= Duration(1004));
  CHECK(both.quantile(1.0) > Duration::max() / 2);
  const auto points = both.distribution();
  REQUIRE(points.size() == 2);
  CHECK(points[0].share == doctest::Approx(0.75));
  CHECK(points[1].share == doctest::Approx(1.0));
}

TEST_CASE("GapHistogram: without gaps everything is zero") {
  const GapHistogram empty;
  CHECK(empty.quantile(0.5) == Duration(0));
  CHECK(empty.mean() == Duration(0));
  CHECK(empty.distribution().empty());
}
