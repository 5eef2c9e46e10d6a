// Flows on links, worked out by hand: shares, ends, and what is freed when one leaves.
#include "sim/network/fluid.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace baton;
using namespace baton::sim;

namespace {

constexpr double kExact = 1e-9;

TimePoint at(double seconds) {
  return TimePoint(Duration(static_cast<Duration::rep>(seconds * 1e9 + 0.5)));
}

Path over(std::initializer_list<LinkIndex> links) {
  Path path;
  for (const LinkIndex link : links) {
    path.add(link);
  }
  return path;
}

// When each flow ended, in seconds, in the order of `flows`; NaN if it has not.
std::vector<double> run_out(FluidNetwork& network, const std::vector<FlowId>& flows) {
  std::vector<double> ends(flows.size(), std::numeric_limits<double>::quiet_NaN());
  for (TimePoint next = network.next_end(); next != kNever; next = network.next_end()) {
    network.advance(next);
    for (const FlowId ended : network.ended()) {
      const auto place = std::ranges::find(flows, ended) - flows.begin();
      REQUIRE(place < static_cast<std::ptrdiff_t>(flows.size()));
      ends[static_cast<std::size_t>(place)] = seconds(next.time_since_epoch());
    }
    network.clear_ended();
  }
  return ends;
}

bool near(double value, double expected) {
  return value == doctest::Approx(expected).epsilon(kExact);
}

}  // namespace

TEST_CASE("FluidNetwork: n equal flows started together on one link all end at n S / B") {
  for (const int n : {1, 2, 7, 100}) {
    FluidNetwork network;
    const LinkIndex link = network.add_link("link", 1e9);
    std::vector<FlowId> flows;
    for (int i = 0; i < n; ++i) {
      flows.push_back(network.start(over({link}), 3e8, at(0)));
    }
    CHECK(near(network.rate(flows[0]), 1e9 / n));
    for (const double end : run_out(network, flows)) {
      CHECK(near(end, n * 0.3));
    }
    CHECK(network.flows() == 0);
    CHECK(near(network.carried(link, at(n * 0.3 + 1)), n * 3e8));
  }
}

TEST_CASE("FluidNetwork: staggered flows end as processor sharing does by hand") {
  // 1 byte/s. A (4 bytes) at 0, B (3) at 1, C (1) at 3. A alone until 1: 3 left. A and B halve until 3: A 2, B 2. Three
  // ways until C is through at 6: A 1, B 1. Halves again: both through at 8.
  FluidNetwork network;
  const LinkIndex link = network.add_link("link", 1.0);
  std::vector<FlowId> flows;
  flows.push_back(network.start(over({link}), 4.0, at(0)));
  flows.push_back(network.start(over({link}), 3.0, at(1)));
  flows.push_back(network.start(over({link}), 1.0, at(3)));
  CHECK(near(network.left(flows[0], at(3)), 2.0));
  const std::vector<double> ends = run_out(network, flows);
  CHECK(near(ends[0], 8.0));
  CHECK(near(ends[1], 8.0));
  CHECK(near(ends[2], 6.0));
  CHECK(network.in_use(link, at(10)) == std::chrono::seconds(8));
}

TEST_CASE("FluidNetwork: two unit links, three flows on one and two on the other get thirds and two thirds") {
  FluidNetwork network;
  const LinkIndex a = network.add_link("a", 1.0);
  const LinkIndex b = network.add_link("b", 1.0);
  std::vector<FlowId> flows;
  flows.push_back(network.start(over({a}), 1.0, at(0)));
  flows.push_back(network.start(over({a}), 1.0, at(0)));
  flows.push_back(network.start(over({a, b}), 1.0, at(0)));
  flows.push_back(network.start(over({b}), 1.0, at(0)));
  CHECK(near(network.rate(flows[0]), 1.0 / 3));
  CHECK(near(network.rate(flows[1]), 1.0 / 3));
  CHECK(near(network.rate(flows[2]), 1.0 / 3));
  CHECK(near(network.rate(flows[3]), 2.0 / 3));
  // f4 is through at 1.5; the others go on at thirds, since a is full, until 3.
  const std::vector<double> ends = run_out(network, flows);
  CHECK(near(ends[3], 1.5));
  CHECK(near(ends[0], 3.0));
  CHECK(near(ends[2], 3.0));
}

TEST_CASE("FluidNetwork: the narrowest link of a path holds its flow, and the others get the rest") {
  FluidNetwork network;
  const LinkIndex wide = network.add_link("wide", 10.0);
  const LinkIndex narrow = network.add_link("narrow", 2.0);
  const FlowId held = network.start(over({wide, narrow}), 100.0, at(0));
  const FlowId free = network.start(over({wide}), 100.0, at(0));
  CHECK(near(network.rate(held), 2.0));
  CHECK(near(network.rate(free), 8.0));
}

TEST_CASE("FluidNetwork: a cancelled flow frees its share at once") {
  FluidNetwork network;
  const LinkIndex link = network.add_link("link", 8.0);
  const FlowId one = network.start(over({link}), 8.0, at(0));
  const FlowId other = network.start(over({link}), 80.0, at(0));
  CHECK(near(network.cancel(one, at(1)), 4.0));
  CHECK_FALSE(network.alive(one));
  CHECK(near(network.rate(other), 8.0));
  CHECK(network.next_end() == at(1 + 76.0 / 8));
  CHECK(near(network.carried(link, at(1)), 8.0));
}

TEST_CASE("FluidNetwork: a flow over no link ends at once, and so does one of no bytes") {
  FluidNetwork network;
  const LinkIndex link = network.add_link("link", 1.0);
  network.start(Path(), 1e12, at(2));
  network.start(over({link}), 0.0, at(2));
  CHECK(network.next_end() == at(2));
  network.advance(at(2));
  CHECK(network.ended().size() == 2);
  CHECK(network.flows() == 0);
  CHECK(network.flows_on(link) == 0);
}

TEST_CASE("FluidNetwork: what is taken off a flow brings its end forward and weighs on no link") {
  FluidNetwork network;
  const LinkIndex link = network.add_link("link", 1.0);
  const FlowId flow = network.start(over({link}), 10.0, at(0));
  network.shorten(flow, 4.0, at(1));
  CHECK(network.next_end() == at(6));
  network.shorten(flow, 100.0, at(2));
  network.advance(at(2));
  CHECK_FALSE(network.alive(flow));
  CHECK(near(network.carried(link, at(2)), 2.0));
}

TEST_CASE("FluidNetwork: the end is the first nanosecond at which all bytes are through") {
  FluidNetwork network;
  const LinkIndex link = network.add_link("link", 3e9);
  network.start(over({link}), 10.0, at(0));  // 3.33 ns
  CHECK(network.next_end() == TimePoint(Duration(4)));
  network.advance(TimePoint(Duration(4)));
  network.start(over({link}), 9.0, TimePoint(Duration(4)));  // 3 ns
  CHECK(network.next_end() == TimePoint(Duration(7)));
}

TEST_CASE("FluidNetwork: flows of one instant end by the order of their starts") {
  FluidNetwork network;
  const LinkIndex link = network.add_link("link", 1.0);
  std::vector<FlowId> flows;
  for (int i = 0; i < 9; ++i) {
    flows.push_back(network.start(over({link}), 1.0, at(0)));
  }
  network.advance(at(100));
  CHECK(std::ranges::equal(network.ended(), flows));
}
