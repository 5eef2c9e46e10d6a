// Clients that go away, at every moment, in virtual time: nobody else notices and nothing stays behind.
#include <doctest/doctest.h>

#include "tests/support/impatient.h"
#include "tests/support/pick.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

TEST_CASE("Abort: at every moment of a request's life it frees both legs and leaves the others alone") {
  for (const int mode : {0, 1, 2}) {
    for (int moment = 0; moment < 60; ++moment) {
      CAPTURE(mode);
      CAPTURE(moment);
      NodeConfig config = small_node();
      config.copying = mode == 1;
      config.aggregated = mode == 2;
      ToyWorld world(config);
      const GenerationRequest aborted = world.request(150, 20, 1);
      const GenerationRequest other = world.request(130, 20, 2);
      Outcome first;
      Outcome second;
      const auto client = [&]() -> Task<> {
        Scope scope(world.context, "clients");
        scope.spawn("one", impatient(world, aborted, Duration{0}, std::chrono::microseconds(250 * moment),
                                     moment % 2 == 0, first));
        scope.spawn("two", impatient(world, other, Duration{0}, std::chrono::seconds(50), false, second));
        co_await scope.join();
      };
      world.run(client());
      CHECK(second.ok());
      CHECK(second.tokens == world.reference(other));
      CHECK((moment % 2 == 0 || first.finishes == 1));
      CHECK(world.drained_after_run);
    }
  }
}

TEST_CASE("Abort: storms of aborts around retractions leave the survivors with the reference's tokens") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    Pick random(seed);
    NodeConfig config = small_node(1 + random(3), 1 + random(3));
    config.copying = random.chance(0.4);
    config.aggregated = random.chance(0.2);
    config.decode_pages = 24 + random(40);
    config.prefill_pages = 30;
    config.decode.admission.lookahead_tokens = random(40);
    config.decode.running_max = 1 + random(12);
    config.decode.retract_every = random.chance(0.5) ? 3 : 0;
    ToyWorld world(config);
    constexpr std::size_t kClients = 60;
    std::vector<GenerationRequest> requests;
    std::vector<Outcome> outcomes(kClients);
    std::vector<bool> stays;
    for (std::size_t i = 0; i < kClients; ++i) {
      requests.push_back(world.request(1 + random(200), 1 + random(80), i));
      stays.push_back(random.chance(0.6));
    }
    const auto client = [&]() -> Task<> {
      Scope scope(world.context, "clients");
      for (std::size_t i = 0; i < kClients; ++i) {
        const Duration delay = std::chrono::microseconds(random(60'000));
        const Duration patience =
            stays[i] ? Duration(std::chrono::seconds(55)) : Duration(std::chrono::microseconds(random(40'000)));
        scope.spawn("client",
                    impatient(world, requests[i], delay, patience, !stays[i] && random.chance(0.5), outcomes[i]));
      }
      co_await scope.join();
    };
    world.run(client());
    for (std::size_t i = 0; i < kClients; ++i) {
      CAPTURE(i);
      if (stays[i]) {
        CHECK(outcomes[i].ok());
        CHECK(outcomes[i].tokens == world.reference(requests[i]));
      }
    }
    CHECK(world.drained_after_run);
  }
}

TEST_CASE("Abort: the same seed gives the same history, event by event") {
  const auto history = [](std::uint64_t seed) {
    Pick pick(seed);
    NodeConfig config = small_node(2, 2);
    config.copying = true;
    config.trace_events = 1U << 20;
    config.decode_pages = 30;
    config.decode.admission.lookahead_tokens = 0;
    ToyWorld world(config);
    std::vector<Outcome> outcomes(30);
    const auto client = [&]() -> Task<> {
      Scope scope(world.context, "clients");
      for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const GenerationRequest request = world.request(1 + pick(150), 1 + pick(60), i);
        const Duration delay = std::chrono::microseconds(pick(40'000));
        const Duration patience = std::chrono::microseconds(pick(200'000));
        scope.spawn("client", impatient(world, request, delay, patience, false, outcomes[i]));
      }
      co_await scope.join();
    };
    world.run(client());
    return world.history;
  };
  const std::string first = history(5);
  CHECK(first.size() > 10'000);
  CHECK(first == history(5));
  CHECK(first != history(6));
}
