// Writes and notices of the hand-over that go wrong: every request still ends once, and only right tokens come out.
#include <list>

#include <doctest/doctest.h>

#include "tests/support/impatient.h"
#include "tests/support/pick.h"
#include "tests/support/toy_world.h"
#include "transport/faulty/fault_plan.h"
#include "transport/faulty/faulty_endpoint.h"

using namespace baton;
using namespace baton::test;

namespace {

// Gives every rank's endpoint random faults from one seed. The wrapped endpoints' tasks end with the world.
class FaultyWorld {
 public:
  FaultyWorld(NodeConfig config, std::uint64_t seed, FaultRates rates)
      : world(std::move(config), {}, [this, seed, rates](Context& context, Endpoint& inner) -> Endpoint& {
          plans_.emplace_back(seed * 1000 + plans_.size(), rates);
          endpoints_.emplace_back(context, inner, plans_.back());
          return endpoints_.back();
        }) {}

  void run(Task<> client) {
    const auto with_faults = [this](Task<> inner) -> Task<> {
      Scope scope(world.context, "faults");
      for (FaultyEndpoint& endpoint : endpoints_) {
        scope.spawn("late notices", endpoint.run());
      }
      const auto body = [&](Task<> task) -> Task<> {
        co_await std::move(task);
        co_await drained();
        scope.cancel();
      };
      scope.spawn("client", body(std::move(inner)));
      co_await scope.join();
    };
    world.run(with_faults(std::move(client)));
  }

  std::uint64_t faults() const {
    std::uint64_t total = 0;
    for (const FaultyEndpoint& endpoint : endpoints_) {
      total += endpoint.faults();
    }
    return total;
  }

 private:
  std::list<RandomFaults> plans_;
  std::list<FaultyEndpoint> endpoints_;

 public:
  ToyWorld world;

 private:
  // Late notices must have had their time before the world ends.
  Task<> drained() {
    while (!world.node->drained()) {
      co_await sleep_until(world.context, world.context.now() + Duration(std::chrono::milliseconds(5)));
    }
  }
};

}  // namespace

TEST_CASE(
    "Faults: whatever happens to writes and notices, who finishes has the reference's tokens and all pages return") {
  std::uint64_t faults = 0;
  std::size_t finished = 0;
  std::size_t failed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Pick pick(seed);
    FaultRates rates;
    rates.delay = 0.2;
    rates.drop = pick.chance(0.3) ? 0.02 : 0;
    rates.hold_back = 0.1;
    rates.duplicate = 0.1;
    rates.fail = 0.02;
    rates.tear = 0.02;
    NodeConfig config = small_node(1 + pick(2), 1 + pick(2));
    config.copying = pick.chance(0.7);
    config.decode_pages = 40 + pick(40);
    config.prefill_pages = 40;
    config.router.time_limit = std::chrono::seconds(2);
    FaultyWorld faulty(config, seed, rates);
    ToyWorld& world = faulty.world;
    constexpr std::size_t kClients = 30;
    std::vector<GenerationRequest> requests;
    std::vector<Outcome> outcomes(kClients);
    for (std::size_t i = 0; i < kClients; ++i) {
      requests.push_back(world.request(1 + pick(200), 1 + pick(30), i));
    }
    const auto client = [&]() -> Task<> {
      Scope scope(world.context, "clients");
      for (std::size_t i = 0; i < kClients; ++i) {
        const Duration delay = std::chrono::microseconds(pick(50'000));
        const Duration patience =
            pick.chance(0.8) ? Duration(std::chrono::seconds(50)) : Duration(std::chrono::microseconds(pick(40'000)));
        scope.spawn("client", impatient(world, requests[i], delay, patience, false, outcomes[i]));
      }
      co_await scope.join();
    };
    faulty.run(client());
    for (std::size_t i = 0; i < kClients; ++i) {
      CAPTURE(i);
      CHECK(outcomes[i].finishes == 1);
      if (outcomes[i].ok()) {
        CHECK(outcomes[i].tokens == world.reference(requests[i]));
        ++finished;
      } else {
        ++failed;
      }
    }
    CHECK(world.drained_after_run);
    faults += faulty.faults();
  }
  CHECK(faults > 1000);
  CHECK(finished > 500);
  CHECK(failed > 50);
}
