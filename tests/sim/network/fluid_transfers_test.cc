// Coroutines that wait for their bytes, in virtual time.
#include "sim/network/fluid_transfers.h"

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "tests/support/run.h"

using namespace baton;
using namespace baton::sim;
using std::chrono::milliseconds;

namespace {

struct World {
  SimContext context;
  FluidNetwork network;
  FluidTransfers transfers{context, network};
  Path path;
  Scope scope{context, "world"};
  std::vector<std::string> log;

  World() {
    path.add(network.add_link("link", 100.0));
    scope.spawn("network", transfers.run());
  }
  ~World() { context.destroy_coroutines(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void note(const std::string& what) {
    log.push_back(what + " " + std::to_string(context.now().time_since_epoch() / milliseconds(1)));
  }

  void run() {
    while (context.step()) {
    }
  }
};

Task<> move(World& world, std::string name, double bytes, Duration start, Duration setup) {
  co_await pause(world.context, start);
  Load load(world.path, bytes, setup);
  const Result<> moved = co_await world.transfers.transfer(world.context, std::move(load));
  world.note(name + (moved ? "" : " " + moved.error().message()));
}

Task<> hold(World& world, Transfer& transfer, double bytes) {
  Load load(world.path, bytes, Duration(0));
  const Result<> moved = co_await transfer.run(std::move(load));
  world.note(moved ? "arrived" : moved.error() == Errc::peer_lost ? "lost" : "failed");
}

Task<> fail_after(World& world, Transfer& transfer, Duration time) {
  co_await pause(world.context, time);
  transfer.fail(Errc::peer_lost);
}

}  // namespace

TEST_CASE("FluidTransfers: transfers share the link and end when their bytes are through") {
  World world;
  world.scope.spawn("a", move(world, "a", 400, Duration(0), Duration(0)));
  world.scope.spawn("b", move(world, "b", 300, std::chrono::seconds(1), Duration(0)));
  world.scope.spawn("c", move(world, "c", 100, std::chrono::seconds(3), Duration(0)));
  world.run();
  CHECK(world.log == std::vector<std::string>{"c 6000", "a 8000", "b 8000"});
}

TEST_CASE("FluidTransfers: the setup occupies no link") {
  World world;
  world.scope.spawn("a", move(world, "a", 100, Duration(0), Duration(0)));
  world.scope.spawn("b", move(world, "b", 100, Duration(0), milliseconds(1500)));
  world.run();
  CHECK(world.log == std::vector<std::string>{"a 1000", "b 2500"});
}

TEST_CASE("FluidTransfers: a path of no links takes the setup alone, which is never longer than with links") {
  World world;
  world.path = Path();
  world.scope.spawn("a", move(world, "a", 1e15, Duration(0), milliseconds(7)));
  world.run();
  CHECK(world.log == std::vector<std::string>{"a 7"});
}

TEST_CASE("FluidTransfers: a failed transfer ends at once and leaves the link to the others") {
  World world;
  Transfer transfer(world.transfers, world.context);
  world.scope.spawn("held", hold(world, transfer, 1000));
  world.scope.spawn("b", move(world, "b", 100, Duration(0), Duration(0)));
  world.scope.spawn("end", fail_after(world, transfer, std::chrono::seconds(1)));
  world.run();
  CHECK(world.log == std::vector<std::string>{"lost 1000", "b 1500"});
  transfer.fail(Errc::internal);
}

TEST_CASE("FluidTransfers: a cancelled coroutine takes its flow off the network") {
  World world;
  TaskHandle victim = world.scope.spawn("a", move(world, "a", 1000, Duration(0), Duration(0)));
  world.scope.spawn("b", move(world, "b", 100, Duration(0), Duration(0)));
  world.context.run_until(TimePoint(std::chrono::seconds(1)));
  victim.cancel();
  world.run();
  CHECK(world.log.back() == "b 1500");
  CHECK(world.network.flows() == 0);
}

TEST_CASE("FluidTransfers: a destroyed frame takes its flow off the network") {
  World world;
  world.scope.spawn("a", move(world, "a", 1000, Duration(0), Duration(0)));
  world.context.run_until(TimePoint(std::chrono::seconds(1)));
  CHECK(world.network.flows() == 1);
  world.context.destroy_coroutines();
  CHECK(world.network.flows() == 0);
}

TEST_CASE("FluidTransfers: a slot that is used again in the instant of its flow's end wakes both transfers") {
  World world;
  world.scope.spawn("a", move(world, "a", 100, Duration(0), Duration(0)));
  world.scope.spawn("b", move(world, "b", 100, std::chrono::seconds(1), Duration(0)));
  world.scope.spawn("c", move(world, "c", 100, std::chrono::seconds(2), Duration(0)));
  world.run();
  CHECK(world.log == std::vector<std::string>{"a 1000", "b 2000", "c 3000"});
}
