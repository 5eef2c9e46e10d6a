#include "sim/cost/grid.h"

#include <array>

#include <doctest/doctest.h>

#include "runtime/random.h"

namespace baton::sim {
namespace {

TEST_CASE("Grid: a function linear in each axis is met everywhere inside, and continued above") {
  const auto f = [](double a, double b, double c, double d) { return 3 + 2 * a + a * b + 5 * c + c * d; };
  std::vector<Grid::Sample> samples;
  for (const double a : {0, 1, 4}) {
    for (const double b : {0, 2, 3}) {
      for (const double c : {1, 2, 8}) {
        for (const double d : {0, 16, 64}) {
          samples.push_back({{a, b, c, d}, f(a, b, c, d)});
        }
      }
    }
  }
  const Grid grid(samples, 4);
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    const std::array point{4 * random.unit(), 3 * random.unit(), 1 + 7 * random.unit(), 64 * random.unit()};
    const Grid::Answer answer = grid.at(point);
    CHECK(answer.value == doctest::Approx(f(point[0], point[1], point[2], point[3])).epsilon(1e-9));
    CHECK_FALSE(answer.outside);
  }
  const std::array beyond{6.0, 2.0, 2.0, 100.0};
  CHECK(grid.at(beyond).value == doctest::Approx(f(6, 2, 2, 100)));
  CHECK(grid.at(beyond).outside);
  const std::array below{1.0, 1.0, 0.0, 1.0};
  CHECK(grid.at(below).value == doctest::Approx(f(1, 1, 1, 1)));
  CHECK(grid.at(below).outside);
}

TEST_CASE("Grid: an axis may end sooner behind one value than behind another") {
  const Grid grid({{{0, 0}, 1}, {{10, 0}, 2}, {{10, 100}, 12}}, 2);
  const std::array corner{0.0, 50.0};
  CHECK(grid.at(corner).value == 1);
  const std::array between{5.0, 50.0};
  CHECK(grid.at(between).value == doctest::Approx((1 + 7) / 2.0));
}

TEST_CASE("Grid: several samples of one point count as their mean, and nothing falls below zero") {
  const Grid grid({{{1}, 2}, {{1}, 4}, {{2}, 1}}, 1);
  CHECK(grid.at(std::array{1.0}).value == 3);
  CHECK(grid.at(std::array{1.5}).value == 2);
  CHECK(grid.at(std::array{10.0}).value == 0);
}

}  // namespace
}  // namespace baton::sim
