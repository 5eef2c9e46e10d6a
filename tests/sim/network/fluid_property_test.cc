// FluidNetwork against a max-min fair filling that looks at everything every time, on random networks; and against the
// theory of processor sharing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "sim/network/fluid.h"

using namespace baton;
using namespace baton::sim;

namespace {

struct OpenFlow {
  FlowId id;
  std::vector<LinkIndex> path;
  double bytes = 0.0;
};

// All rates rise together until some link is full; its flows stop; and so on.
std::vector<double> naive_rates(const std::vector<double>& capacity, const std::vector<OpenFlow>& flows) {
  std::vector<double> room = capacity;
  std::vector<double> rate(flows.size(), -1.0);
  for (std::size_t left = flows.size(); left > 0;) {
    double lowest = std::numeric_limits<double>::infinity();
    LinkIndex full = 0;
    for (LinkIndex link = 0; link < capacity.size(); ++link) {
      int rising = 0;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        rising += rate[i] < 0.0 && std::ranges::count(flows[i].path, link) > 0 ? 1 : 0;
      }
      if (rising > 0 && room[link] / rising < lowest) {
        lowest = room[link] / rising;
        full = link;
      }
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (rate[i] < 0.0 && std::ranges::count(flows[i].path, full) > 0) {
        rate[i] = lowest;
        --left;
        for (const LinkIndex link : flows[i].path) {
          room[link] -= lowest;
        }
      }
    }
  }
  return rate;
}

struct World {
  FluidNetwork network;
  std::vector<double> capacity;
  std::vector<OpenFlow> flows;
  std::vector<double> sent;  // by link: bytes of flows that have ended
  Random random;
  TimePoint now{};

  std::uint64_t crossed_max = 4;

  World(std::uint64_t seed, std::uint64_t links) : random(seed) {
    for (std::uint64_t i = 0; i < links; ++i) {
      capacity.push_back(random.chance(0.3) ? 10.0 : 1.0 + 20.0 * random.unit());
      network.add_link("link", capacity.back());
    }
    sent.resize(links);
  }

  void start() {
    OpenFlow flow;
    Path path;
    const std::uint64_t crossed = 1 + random.uniform(std::min<std::uint64_t>(capacity.size(), crossed_max));
    while (flow.path.size() < crossed) {
      const auto link = static_cast<LinkIndex>(random.uniform(capacity.size()));
      if (std::ranges::count(flow.path, link) == 0) {
        flow.path.push_back(link);
        path.add(link);
      }
    }
    flow.bytes = random.chance(0.2) ? 8.0 : 0.1 + 10.0 * random.unit();
    flow.id = network.start(path, flow.bytes, now);
    flows.push_back(flow);
  }

  void cancel() {
    if (!flows.empty()) {
      const std::size_t victim = random.uniform(flows.size());
      const double left = network.cancel(flows[victim].id, now);
      leave(victim, flows[victim].bytes - left);
    }
  }

  void pass() {
    const TimePoint next = network.next_end();
    const TimePoint until = now + Duration(1 + static_cast<Duration::rep>(random.uniform(300'000'000)));
    now = random.chance(0.5) && next != kNever ? next : until;
    network.advance(now);
    for (const FlowId ended : network.ended()) {
      const auto found = std::ranges::find(flows, ended, &OpenFlow::id);
      REQUIRE(found != flows.end());
      leave(static_cast<std::size_t>(found - flows.begin()), found->bytes);
    }
    network.clear_ended();
  }

  void leave(std::size_t flow, double brought) {
    for (const LinkIndex link : flows[flow].path) {
      sent[link] += brought;
    }
    flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(flow));
  }

  void check() {
    const std::vector<double> expected = naive_rates(capacity, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      REQUIRE(network.rate(flows[i].id) == doctest::Approx(expected[i]).epsilon(1e-9));
    }
    for (LinkIndex link = 0; link < capacity.size(); ++link) {
      double bytes = sent[link];
      for (const OpenFlow& flow : flows) {
        if (std::ranges::count(flow.path, link) > 0) {
          bytes += flow.bytes - network.left(flow.id, now);
        }
      }
      const double carried = network.carried(link, now);
      REQUIRE(carried == doctest::Approx(bytes).epsilon(1e-9));
      REQUIRE(carried <= capacity[link] * seconds(network.in_use(link, now)) * (1.0 + 1e-9) + 1e-6);
    }
  }
};

// Mean time that a job spends on a shared link of one byte/s: Poisson arrivals at `load` over the mean size, sizes by
// `draw`, which has a mean of one.
template <class Draw>
double mean_response(double load, int jobs, std::uint64_t seed, Draw draw) {
  FluidNetwork network;
  Path path;
  path.add(network.add_link("link", 1.0));
  Random random(seed);
  std::vector<TimePoint> started;
  double total = 0.0;
  int ended = 0;
  TimePoint arrival{};
  while (ended < jobs) {
    const TimePoint next = std::min(network.next_end(), arrival);
    network.advance(next);
    for (const FlowId flow : network.ended()) {
      total += seconds(next - started[flow.slot]);
      ++ended;
    }
    network.clear_ended();
    if (next == arrival) {
      const double size = draw(random);
      const FlowId flow = network.start(path, size, next);
      started.resize(std::max(started.size(), network.slots()));
      started[flow.slot] = next;
      const double gap = -std::log1p(-random.unit()) / load;
      arrival += Duration(static_cast<Duration::rep>(gap * 1e9));
    }
  }
  return total / ended;
}

}  // namespace

TEST_CASE("FluidNetwork: rates are those of a filling from nothing, bytes are conserved, no link carries too much") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    World world(seed, 1 + seed % 9);
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t what = world.random.uniform(10);
      if (what < 5) {
        world.start();
      } else if (what < 6) {
        world.cancel();
      } else {
        world.pass();
      }
      if (world.random.chance(0.7)) {  // else several changes of one instant are followed up together
        world.check();
      }
    }
    while (world.network.next_end() != kNever) {
      world.pass();
      world.check();
    }
    CHECK(world.flows.empty());
  }
}

TEST_CASE("FluidNetwork: what a change does far away is found, in networks too wide to look at as a whole") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    World world(seed, 60);
    world.crossed_max = 2 + seed % 2;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t what = world.random.uniform(10);
      if (what < 6 && world.flows.size() < 150) {
        world.start();
      } else if (what < 8) {
        world.cancel();
      } else {
        world.pass();
      }
      if (step % 8 == 0) {
        world.check();
      }
    }
  }
}

TEST_CASE(
    "FluidNetwork: a shared link responds as M/G/1 processor sharing does, in S / (1 - load), whatever the sizes") {
  const auto exponential = [](Random& random) { return -std::log1p(-random.unit()); };
  const auto two_sizes = [](Random& random) { return random.chance(0.9) ? 0.5 : 5.5; };
  CHECK(mean_response(0.5, 1'000'000, 1, exponential) == doctest::Approx(2.0).epsilon(0.02));
  CHECK(mean_response(0.7, 2'000'000, 2, exponential) == doctest::Approx(1.0 / 0.3).epsilon(0.02));
  CHECK(mean_response(0.5, 1'000'000, 3, two_sizes) == doctest::Approx(2.0).epsilon(0.02));
}
