// Messages under way: their order, their fates, and that fates are their own.
#include "sim/chaos/network.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"

using namespace baton;
using namespace baton::chaos;

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr RankId kFrom{Role::decode, 0};
constexpr RankId kTo{Role::router, 0};

// A network that runs, and a log of what arrived.
struct Bench {
  SimClock clock;
  SimContext context{clock, "network"};
  Chronicle chronicle{clock, 0};
  Scenario scenario;
  Network network{context, scenario, chronicle};
  Scope scope{context, "test"};
  std::vector<int> arrived;

  Bench() { scenario.delay_max = milliseconds(2); }
  ~Bench() { context.destroy_coroutines(); }

  void send(int number, std::uint32_t request, Traffic traffic = Traffic::cancel) {
    const RoomId room{request + 1000};
    chronicle.room_of(room, request);
    network.send(kFrom, kTo, traffic, room, [this, number] { arrived.push_back(number); });
  }
  void run() {
    {
      const Context::Inside inside(context);
      scope.spawn("run", network.run());
    }
    while (clock.step()) {
    }
  }
};

}  // namespace

TEST_CASE("Network: messages of one way arrive in the order they were sent, latency or not") {
  for (const auto latency : {microseconds(0), microseconds(300)}) {
    Bench bench;
    bench.scenario.latency = latency;
    bench.scenario.control.delayed = 0.5;
    for (int i = 0; i < 20; ++i) {
      bench.send(i, static_cast<std::uint32_t>(i));
    }
    bench.run();
    CHECK(bench.arrived.size() == 20);
    CHECK(std::ranges::is_sorted(bench.arrived));
    CHECK(bench.chronicle.fault_counts()[static_cast<std::size_t>(Fault::control_delayed)] > 0);
  }
}

TEST_CASE("Network: overtaken ones arrive out of order, duplicated ones twice, lost ones never") {
  Bench overtaken;
  overtaken.scenario.control.overtaken = 0.5;
  Bench duplicated;
  duplicated.scenario.control.duplicated = 1;
  Bench lost;
  lost.scenario.control.lost = 0.5;
  for (int i = 0; i < 20; ++i) {
    overtaken.send(i, static_cast<std::uint32_t>(i));
    duplicated.send(i, static_cast<std::uint32_t>(i));
    lost.send(i, static_cast<std::uint32_t>(i));
  }
  overtaken.run();
  duplicated.run();
  lost.run();
  CHECK(overtaken.arrived.size() == 20);
  CHECK_FALSE(std::ranges::is_sorted(overtaken.arrived));
  CHECK(duplicated.arrived.size() == 40);
  CHECK(lost.arrived.size() == 20 - lost.chronicle.faults().size());
  CHECK(lost.arrived.size() < 20);
}

TEST_CASE("Network: leaving one request out changes no other one's faults") {
  const auto keys = [](std::uint32_t left_out) {
    Bench bench;
    bench.scenario.control = {0.2, 0.2, 0.2, 0.2, 0};
    for (std::uint32_t round = 0; round < 3; ++round) {
      for (std::uint32_t request = 0; request < 30; ++request) {
        if (request != left_out) {
          bench.send(0, request);
        }
      }
    }
    std::vector<std::pair<std::uint64_t, Fault>> result;
    for (const InjectedFault& fault : bench.chronicle.faults()) {
      if (fault.request != 7U) {
        result.emplace_back(fault.key, fault.fault);
      }
    }
    return result;
  };
  CHECK(keys(1000).size() > 40);
  CHECK(keys(1000) == keys(7));
}

TEST_CASE("Network: faults are restricted to the keys that a scenario lists") {
  Bench all;
  all.scenario.control.lost = 0.5;
  for (std::uint32_t i = 0; i < 20; ++i) {
    all.send(0, i);
  }
  REQUIRE(all.chronicle.faults().size() > 2);
  const std::uint64_t key = all.chronicle.faults()[1].key;
  Bench one;
  one.scenario.control.lost = 0.5;
  one.scenario.only = {key};
  for (std::uint32_t i = 0; i < 20; ++i) {
    one.send(0, i);
  }
  REQUIRE(one.chronicle.faults().size() == 1);
  CHECK(one.chronicle.faults()[0].key == key);
}

TEST_CASE("Network: a scripted fault meets the message it names, nothing crosses a cut way, the dead send nothing") {
  Bench bench;
  bench.scenario.script.push_back({Traffic::cancel, 3, 1, Fault::control_lost, Duration{0}});
  bench.send(1, 3);
  bench.send(2, 3);
  bench.send(3, 3);
  CHECK(bench.arrived == std::vector<int>{1, 3});
  bench.network.cut(kFrom, kTo, true);
  bench.send(4, 3);
  bench.network.cut(kFrom, kTo, false);
  bench.send(5, 3);
  bench.network.set_dead(kFrom, true);
  bench.send(6, 3);
  CHECK(bench.arrived == std::vector<int>{1, 3, 5});
}
