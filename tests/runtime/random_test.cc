#include "runtime/random.h"

#include <array>
#include <cstdint>
#include <set>

#include <doctest/doctest.h>

namespace baton {

TEST_CASE("splitmix64: gives the published sequence") {
  // The test vector of the reference implementation for the seed 1234567 (as listed in Rosetta Code, "Splitmix64").
  std::uint64_t state = 1234567;
  for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U}) {
    CHECK(splitmix64(state) == expected);
  }
}

TEST_CASE("Random: a seed gives the same numbers everywhere, and forks depend on seed and stream alone") {
  Random first(42);
  Random second(42);
  Random fork = second.fork(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t number = first.next();
    CHECK(number == second.next());
  }
  CHECK(fork.next() == second.fork(1).next());
  CHECK(Random(42).fork(1).next() != Random(42).fork(2).next());
  CHECK(Random(42).fork(1).next() != Random(43).fork(1).next());
}

TEST_CASE("Random: uniform stays below its bound and favours nothing") {
  Random random(7);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100000; ++i) {
    ++counts.at(random.uniform(10));
  }
  for (const int count : counts) {
    CHECK(count > 9500);  // expected 10000 with a standard deviation of 95
    CHECK(count < 10500);
  }
  const std::uint64_t large = (std::uint64_t{1} << 63) + 1;  // nearly half of all draws must be repeated
  for (int i = 0; i < 1000; ++i) {
    CHECK(random.uniform(large) < large);
    CHECK(random.uniform(1) == 0);
  }
}

TEST_CASE("Random: unit lies in [0, 1) around one half") {
  Random random(9);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.unit();
    CHECK_UNARY(value >= 0.0);
    CHECK_UNARY(value < 1.0);
    sum += value;
  }
  CHECK(sum / 100000 == doctest::Approx(0.5).epsilon(0.01));
}

}  // namespace baton
