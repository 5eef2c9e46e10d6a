#include "sim/cost/fleet.h"

#include <doctest/doctest.h>

namespace baton::sim {
namespace {

// DeepSeek's day (open-infra-index, day 6): 608 B tokens in, 168 B out, 73.7 k in (cache hits included) and 14.8 k out
// per second and node; 226.75 nodes on average.
constexpr FleetLoad kDay{608e9, 168e9, 86'400, 73'700, 14'800};

TEST_CASE("match_rates: DeepSeek's published load and rates give DeepSeek's published fleet") {
  constexpr Fleet fleet = match_rates(kDay);
  CHECK(fleet.nodes() == doctest::Approx(226.75).epsilon(0.01));
  CHECK(fleet.nodes() == doctest::Approx(226.9).epsilon(0.0005));
  CHECK(fleet.prefill_per_decode() == doctest::Approx(0.727).epsilon(0.02 / 0.727));
  CHECK(fleet.prefill_nodes == doctest::Approx(95.5).epsilon(0.001));
  CHECK(fleet.decode_nodes == doctest::Approx(131.4).epsilon(0.001));
}

}  // namespace
}  // namespace baton::sim
