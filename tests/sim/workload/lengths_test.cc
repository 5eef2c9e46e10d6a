#include "sim/workload/lengths.h"

#include <cmath>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "sim/workload/draws.h"
#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;

constexpr std::uint32_t kMax = 1U << 20;

struct Moments {
  double mean = 0;
  double cv = 0;
  std::uint32_t least = kMax;
  std::uint32_t most = 0;
};

Moments measure(const std::string& text, std::uint32_t max = kMax) {
  Random random(3);
  const LengthSpec spec = parse_length(text, kMax);
  Moments moments;
  double squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const std::uint32_t length = draw_length(spec, random, max);
    moments.mean += length / double{kCount};
    squares += double{1} * length * length / kCount;
    moments.least = std::min(moments.least, length);
    moments.most = std::max(moments.most, length);
  }
  moments.cv = std::sqrt(squares - moments.mean * moments.mean) / moments.mean;
  return moments;
}

TEST_CASE("draw_length: mean and variation are those that were asked for") {
  CHECK(measure("1000").mean == doctest::Approx(1000));
  CHECK(measure("fixed:1000").cv < 1e-4);
  const Moments uniform = measure("uniform:100,300");
  CHECK(uniform.mean == doctest::Approx(200).epsilon(0.004));
  CHECK(uniform.least == 100);
  CHECK(uniform.most == 300);
  const Moments exponential = measure("exponential:500");
  CHECK(exponential.mean == doctest::Approx(500).epsilon(0.013));
  CHECK(exponential.cv == doctest::Approx(1).epsilon(0.03));
  const Moments log_normal = measure("lognormal:2000,1.5");
  CHECK(log_normal.mean == doctest::Approx(2000).epsilon(0.019));
  CHECK(log_normal.cv == doctest::Approx(1.5).epsilon(0.1));
}

TEST_CASE("draw_length: results are at least 1 and at most what is allowed") {
  CHECK(measure("exponential:1").least == 1);
  CHECK(measure("lognormal:2000,10", 5000).most == 5000);
}

TEST_CASE("parse_length and parse_pause: what makes no sense is refused") {
  for (const char* text : {"", "0", "-1", "x", "1.5", "uniform:5", "uniform:5,4", "lognormal:5", "lognormal:0,1",
                           "gauss:5,1", "9999999999", "uniform:0,5", "fixed:", "lognormal:5,nan"}) {
    INFO(text);
    CHECK(!refusal([&] { parse_length(text, kMax); }).empty());
  }
  for (const char* text : {"", "x", "-1s", "exponential", "exponential:", "uniform:1s,2s", "lognormal:1s", "400d"}) {
    INFO(text);
    CHECK(!refusal([&] { parse_pause(text); }).empty());
  }
}

TEST_CASE("draw_pause: fixed, and random ones of that mean") {
  Random random(5);
  CHECK(draw_pause(parse_pause("1.5s"), random) == std::chrono::milliseconds(1500));
  double mean = 0;
  for (int i = 0; i < 50'000; ++i) {
    mean += seconds(draw_pause(parse_pause("exponential:10s"), random)) / 50'000;
  }
  CHECK(mean == doctest::Approx(10).epsilon(0.02));
}

TEST_CASE("Zipf: the k-th is drawn 1/k^s as often as the first") {
  Random random(6);
  Zipf zipf(5, 1);
  std::map<std::size_t, double> seen;
  constexpr int kCount = 200'000;
  for (int i = 0; i < kCount; ++i) {
    seen[zipf.draw(random)] += 1.0 / kCount;
  }
  const double sum = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5;
  REQUIRE(seen.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(seen[k] == doctest::Approx(1 / sum / static_cast<double>(k + 1)).epsilon(0.03));
  }
  Zipf even(4, 0);
  seen.clear();
  for (int i = 0; i < kCount; ++i) {
    seen[even.draw(random)] += 1.0 / kCount;
  }
  CHECK(seen[3] == doctest::Approx(0.25).epsilon(0.02));
}

}  // namespace
