#include "sim/workload/arrivals.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;

struct Measured {
  double rate = 0;
  double cv = 0;
};

Measured measure(const std::string& text, int count, std::uint64_t seed) {
  ArrivalProcess process(parse_arrivals(text), Random(seed));
  double last = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double now = seconds(process.next());
    REQUIRE(now >= last);
    squares += (now - last) * (now - last);
    last = now;
  }
  const double mean = last / count;
  return {1 / mean, std::sqrt(std::max(0.0, squares / count - mean * mean)) / mean};
}

TEST_CASE("ArrivalProcess: a constant rate begins at once and keeps its distance to the nanosecond") {
  ArrivalProcess process(parse_arrivals("constant:8"), Random(1));
  for (int i = 0; i < 1000; ++i) {
    CHECK(process.next().count() == i * 125'000'000LL);
  }
}

TEST_CASE("ArrivalProcess: rate and variation are those that were asked for") {
  constexpr int kCount = 200'000;
  // The relative error of a mean of n gaps is cv / sqrt(n); four of those are allowed.
  const Measured poisson = measure("poisson:5", kCount, 1);
  CHECK(poisson.rate == doctest::Approx(5).epsilon(0.009));
  CHECK(poisson.cv == doctest::Approx(1).epsilon(0.02));
  const Measured regular = measure("gamma:5,0.25", kCount, 2);
  CHECK(regular.rate == doctest::Approx(5).epsilon(0.0025));
  CHECK(regular.cv == doctest::Approx(0.25).epsilon(0.02));
  const Measured bursty = measure("gamma:5,4", kCount, 3);
  CHECK(bursty.rate == doctest::Approx(5).epsilon(0.036));
  CHECK(bursty.cv == doctest::Approx(4).epsilon(0.06));
  CHECK(measure("gamma:2,0", 1000, 4).cv < 1e-3);
}

TEST_CASE("ArrivalProcess: on and off have the same mean rate, in bursts") {
  const Measured measured = measure("onoff:5,2s,6s", 400'000, 5);
  // 400,000 arrivals are 10,000 cycles, each of a random length.
  CHECK(measured.rate == doctest::Approx(5).epsilon(0.05));
  CHECK(measured.cv > 2);
}

TEST_CASE("ArrivalProcess: one seed, one sequence") {
  ArrivalProcess one(parse_arrivals("gamma:5,2"), Random(7));
  ArrivalProcess same(parse_arrivals("gamma:5,2"), Random(7));
  ArrivalProcess other(parse_arrivals("gamma:5,2"), Random(8));
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const Duration time = one.next();
    CHECK(time == same.next());
    equal += time == other.next() ? 1 : 0;
  }
  CHECK(equal < 5);
}

TEST_CASE("ArrivalProcess: the end of time is an error, or where it stops") {
  ArrivalProcess process(parse_arrivals("constant:0.000001"), Random(1));
  CHECK(refusal([&] {
          for (int i = 0; i < 100; ++i) {
            process.next();
          }
        }) == "'constant:0.000001': the last of these requests would come after more than a year");
  ArrivalProcess bounded(parse_arrivals("constant:1"), Random(1));
  int count = 0;
  while (bounded.next_before(std::chrono::seconds(10))) {
    ++count;
  }
  CHECK(count == 10);
}

TEST_CASE("parse_arrivals: what makes no sense is refused with what would") {
  for (const char* text : {"", "poisson", "poisson:", "poisson:0", "poisson:-1", "poisson:nan", "poisson:1,2",
                           "gamma:1", "gamma:1,-1", "gamma:1,1e9", "weibull:1,2", "onoff:1,2s", "onoff:1,0s,2s",
                           "onoff:0.000001,1us,1us", "poisson:1e9", "5", "poisson: 5"}) {
    INFO(text);
    CHECK(!refusal([&] { parse_arrivals(text); }).empty());
  }
  CHECK(refusal([] { parse_arrivals("poisson:1,2"); }) == "'poisson' takes 1 value, not 2");
}

}  // namespace
