// Control messages that come twice, late and in another order, or not at all, between the ranks of a whole node.
#include <map>
#include <memory>

#include <doctest/doctest.h>

#include "tests/support/impatient.h"
#include "tests/support/pick.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Rates {
  double twice = 0;
  double late = 0;
  double lost = 0;
};

// Sends each message once, twice or never, each time at once or up to 5 ms later.
class UnrulyLink final : public ControlLink {
 public:
  UnrulyLink(Context& context, Scope& scope, ControlLink& inner, Rates rates, std::uint64_t seed)
      : context_(context), scope_(scope), inner_(inner), rates_(rates), pick_(seed) {}

  void post(RankId to, RankMessage message) override {
    for (int copies = draw_copies(); copies > 0; --copies) {
      if (pick_.chance(rates_.late)) {
        scope_.spawn("late", post_late(to, message, draw_delay()));
      } else {
        inner_.post(to, message);
      }
    }
  }

  void post_router(RankId router, RouterMessage message) override {
    for (int copies = draw_copies(); copies > 0; --copies) {
      if (pick_.chance(rates_.late)) {
        scope_.spawn("late", post_router_late(router, message, draw_delay()));
      } else {
        inner_.post_router(router, message);
      }
    }
  }

 private:
  int draw_copies() {
    if (pick_.chance(rates_.lost)) {
      return 0;
    }
    return pick_.chance(rates_.twice) ? 2 : 1;
  }

  Duration draw_delay() { return std::chrono::microseconds(pick_(5000)); }

  Task<> post_late(RankId to, RankMessage message, Duration delay) {
    co_await pause(context_, delay);
    inner_.post(to, std::move(message));
  }

  Task<> post_router_late(RankId router, RouterMessage message, Duration delay) {
    co_await pause(context_, delay);
    inner_.post_router(router, std::move(message));
  }

  Context& context_;
  Scope& scope_;
  ControlLink& inner_;
  Rates rates_;
  Pick pick_;
};

constexpr std::size_t kClients = 30;

NodeConfig random_node(Pick& pick) {
  NodeConfig config = small_node(1 + pick(3), 1 + pick(3));
  config.routers = 1;
  config.copying = pick.chance(0.5);
  config.aggregated = pick.chance(0.15);
  config.decode_pages = 30 + pick(60);
  config.prefill_pages = 30;
  config.decode.admission.lookahead_tokens = pick(40);
  config.router.time_limit = std::chrono::seconds(20);
  return config;
}

// Runs clients, some of whom give up, over unruly links; gives the outcomes of those who did not.
struct UnrulyRun {
  UnrulyRun(std::uint64_t seed, Rates rates, double gives_up) : pick(seed) {
    std::map<RankId, std::unique_ptr<UnrulyLink>> links;
    std::unique_ptr<Scope> late;
    ToyWorld world(random_node(pick), {}, {}, [&](RankId self, ControlLink& inner) -> ControlLink& {
      inner_links.emplace(self, &inner);
      return forwards[self];
    });
    late = std::make_unique<Scope>(world.context, "late");
    for (auto& [self, forward] : forwards) {
      links[self] = std::make_unique<UnrulyLink>(world.context, *late, *inner_links.at(self), rates, pick(1U << 30));
      forward.to = links[self].get();
    }
    std::vector<GenerationRequest> requests;
    std::vector<bool> stays;
    for (std::size_t i = 0; i < kClients; ++i) {
      requests.push_back(world.request(1 + pick(200), 1 + pick(60), i));
      stays.push_back(!pick.chance(gives_up));
    }
    outcomes.resize(kClients);
    const auto clients = [&]() -> Task<> {
      Scope scope(world.context, "clients");
      for (std::size_t i = 0; i < kClients; ++i) {
        const Duration delay = std::chrono::microseconds(pick(60'000));
        const Duration patience =
            stays[i] ? Duration(std::chrono::seconds(55)) : Duration(std::chrono::microseconds(pick(40'000)));
        scope.spawn("client", impatient(world, requests[i], delay, patience, false, outcomes[i]));
      }
      co_await scope.join();
      co_await pause(world.context, std::chrono::seconds(30));  // what is left of them ends at their deadlines
    };
    world.run(clients());
    drained = world.drained_after_run;
    world.context.run();  // what is still late
    for (std::size_t i = 0; i < kClients; ++i) {
      CAPTURE(i);
      CHECK(outcomes[i].finishes == 1);
      ok += outcomes[i].ok() ? 1 : 0;
      const std::vector<TokenId> reference = world.reference(requests[i]);
      REQUIRE(outcomes[i].tokens.size() <= reference.size());
      CHECK(std::equal(outcomes[i].tokens.begin(), outcomes[i].tokens.end(), reference.begin()));
      CHECK((!outcomes[i].ok() || outcomes[i].tokens == reference));
      CHECK((!stays[i] || outcomes[i].ok() || rates.lost > 0));
    }
  }

  // The node asks for its links before the world's context can be had.
  struct Forward final : ControlLink {
    void post(RankId where, RankMessage message) override { to->post(where, std::move(message)); }
    void post_router(RankId where, RouterMessage message) override { to->post_router(where, std::move(message)); }
    ControlLink* to = nullptr;
  };

  Pick pick;
  std::map<RankId, Forward> forwards;
  std::map<RankId, ControlLink*> inner_links;
  std::vector<Outcome> outcomes;
  std::size_t ok = 0;
  bool drained = false;
};

}  // namespace

TEST_CASE("Control messages: twice, late and in any order, they cost nobody anything") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const UnrulyRun run(seed, {0.3, 0.3, 0}, 0);
    CHECK(run.ok == kClients);
    CHECK(run.drained);
  }
}

TEST_CASE("Control messages: twice, late and in any order, with clients that give up") {
  for (std::uint64_t seed = 100; seed < 140; ++seed) {
    CAPTURE(seed);
    const UnrulyRun run(seed, {0.3, 0.3, 0}, 0.5);
    CHECK(run.drained);
  }
}

TEST_CASE("Control messages: lost ones end requests by their deadlines and leave nothing behind") {
  std::size_t ok = 0;
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    CAPTURE(seed);
    const UnrulyRun run(seed, {0.1, 0.3, 0.03}, 0.2);
    CHECK(run.drained);
    ok += run.ok;
  }
  CHECK(ok > 40 * kClients / 10);
}
