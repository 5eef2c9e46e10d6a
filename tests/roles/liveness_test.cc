// Ranks that die, freeze and come back, each on a context of its own in one virtual time.
#include <map>
#include <memory>

#include <doctest/doctest.h>

#include "roles/node.h"
#include "sim/sim_clock.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

constexpr RankId kPrefill0{Role::prefill, 0};
constexpr RankId kDecode0{Role::decode, 0};
constexpr RankId kDecode1{Role::decode, 1};
constexpr Duration kPeriod = std::chrono::milliseconds(10);

NodeConfig watched_node(std::uint32_t prefill, std::uint32_t decode) {
  NodeConfig config = small_node(prefill, decode);
  config.copying = true;
  config.liveness.period = kPeriod;
  return config;
}

// A node whose ranks a supervisor crashes, and starts again when they are expelled.
class WatchedWorld {
 public:
  explicit WatchedWorld(NodeConfig config) {
    NodeWorld world{front, [this](RankId rank) -> Context& { return context(rank); },
                    [this](RankId rank) -> Engine& {
                      auto& slot = engines_[rank];
                      if (!slot) {
                        slot = std::make_unique<ToyEngine>(context(rank), ToyEngineConfig{});
                      }
                      return *slot;
                    },
                    metrics};
    world.expelled = [this](RankId rank) { expelled.push_back(rank); };
    node = std::make_unique<Node>(std::move(world), std::move(config), TextRules{});
    for (const RankId rank : node->ranks()) {
      run_rank(rank);
    }
    router_scope_.spawn("routers", node->run_front());
    node->router().open_for_work();
    run_for(std::chrono::milliseconds(1));  // the first heartbeats
  }

  ~WatchedWorld() {
    for (auto& [rank, context] : contexts_) {
      context->destroy_coroutines();
    }
    front.destroy_coroutines();
  }

  SimContext& context(RankId rank) {
    auto& slot = contexts_[rank];
    if (!slot) {
      slot = std::make_unique<SimContext>(clock, to_string(rank));
    }
    return *slot;
  }

  void run_rank(RankId rank) {
    scopes_[rank] = std::make_unique<Scope>(context(rank), to_string(rank));
    scopes_[rank]->spawn("run", node->run_rank(rank));
  }

  void crash(RankId rank) {
    context(rank).destroy_coroutines();
    node->crash(rank);
  }

  void restart(RankId rank) {
    context(rank).destroy_coroutines();
    node->restart(rank);
    run_rank(rank);
  }

  void run_for(Duration duration) { clock.run_until(clock.now() + duration); }

  std::unique_ptr<Generation> start(std::uint32_t prompt, std::uint32_t output) {
    GenerationRequest request;
    request.prompt = std::vector<TokenId>(prompt, 5);
    request.stop.max_tokens = output;
    const Context::Inside inside(front);
    return node->router().start(std::move(request));
  }

  // What the sample has got so far; finished if its end is among it.
  static Outcome taken(SimContext& front, Generation& generation) {
    Outcome outcome;
    Scope scope(front, "take");
    const auto take = [](Generation& from, Outcome& into) -> Task<> {
      while (std::optional<GenerationEvent> event = co_await from.next()) {
        if (auto* last = std::get_if<FinishEvent>(&*event)) {
          into.finish = *last;
          ++into.finishes;
        } else {
          into.tokens.push_back(std::get<TokenEvent>(*event).token.id);
        }
      }
    };
    TaskHandle handle = scope.spawn("take", take(generation, outcome));
    while (!handle.done() && front.step()) {
    }
    return outcome;
  }

  Outcome take(Generation& generation) { return taken(front, generation); }

  SimClock clock;
  SimContext front{clock, "front"};
  MetricsRegistry metrics;
  std::vector<RankId> expelled;

 private:
  std::map<RankId, std::unique_ptr<SimContext>> contexts_;
  std::map<RankId, std::unique_ptr<ToyEngine>> engines_;

 public:
  std::unique_ptr<Node> node;

 private:
  std::map<RankId, std::unique_ptr<Scope>> scopes_;
  Scope router_scope_{front, "front"};
};

}  // namespace

TEST_CASE("Liveness: ranks that share memory cannot be watched, since their writes could not be kept out") {
  NodeConfig config = watched_node(1, 1);
  config.copying = false;
  CHECK_THROWS_AS(WatchedWorld{config}, Error);
  config = watched_node(1, 1);
  config.liveness.missed = 0;
  CHECK_THROWS_AS(WatchedWorld{config}, Error);
}

TEST_CASE("Liveness: while all ranks live nobody is lost and requests end well") {
  WatchedWorld world(watched_node(2, 2));
  const auto generation = world.start(100, 50);
  world.run_for(std::chrono::seconds(2));
  CHECK(world.take(*generation).ok());
  CHECK(world.expelled.empty());
  CHECK(world.node->drained());
}

TEST_CASE("Liveness: a decode rank that dies takes its requests with it at once, and the next ones avoid it") {
  WatchedWorld world(watched_node(1, 2));
  const auto first = world.start(100, 400);
  const auto second = world.start(100, 400);
  world.run_for(std::chrono::milliseconds(20));
  world.crash(kDecode0);
  world.run_for(kPeriod * 4);
  CHECK(world.node->router().open_requests() == 1);
  const Outcome lost = world.take(*first);
  CHECK(lost.code() == Errc::peer_lost);
  CHECK(lost.finish.failure->message.find("decode/0") != std::string::npos);
  const auto third = world.start(20, 4);
  const auto fourth = world.start(20, 4);
  world.run_for(std::chrono::seconds(1));
  CHECK(world.take(*third).ok());
  CHECK(world.take(*fourth).ok());
  CHECK(world.take(*second).ok());
  CHECK(world.node->drained(kDecode1));
  CHECK(world.node->drained(kPrefill0));
}

TEST_CASE("Liveness: a prefill rank that dies costs the requests it still had, not those it had handed over") {
  WatchedWorld world(watched_node(1, 1));
  const auto early = world.start(50, 400);
  world.run_for(std::chrono::milliseconds(20));
  const auto late = world.start(4000, 4);
  world.run_for(std::chrono::milliseconds(5));
  world.crash(kPrefill0);
  world.run_for(kPeriod * 4);
  CHECK(world.node->router().open_requests() == 1);
  CHECK(world.take(*late).code() == Errc::peer_lost);
  CHECK(world.take(*early).ok());
  const auto nobody = world.start(20, 4);
  CHECK(world.take(*nobody).code() == Errc::unavailable);
  CHECK(world.node->drained());  // pages that the dead one might have written are back as well
}

TEST_CASE("Liveness: a rank that was started again is used, and what its former life had is over at once") {
  WatchedWorld world(watched_node(1, 1));
  const auto first = world.start(100, 400);
  world.run_for(std::chrono::milliseconds(20));
  world.restart(kDecode0);
  world.run_for(std::chrono::milliseconds(1));  // one heartbeat, long before the old life would be missed
  CHECK(world.take(*first).code() == Errc::peer_lost);
  const auto second = world.start(100, 10);
  CHECK(world.take(*second).ok());
  CHECK(world.expelled.empty());
}

TEST_CASE("Liveness: a rank that froze for too long is expelled, once, and works again in another life") {
  WatchedWorld world(watched_node(1, 1));
  const PeerId before = world.node->peer(kDecode0);
  const auto first = world.start(100, 400);
  world.run_for(std::chrono::milliseconds(20));
  world.context(kDecode0).freeze(true);
  world.run_for(kPeriod * 4);
  CHECK(world.take(*first).code() == Errc::peer_lost);
  const auto nobody = world.start(20, 4);
  CHECK(world.take(*nobody).code() == Errc::unavailable);
  world.context(kDecode0).freeze(false);
  world.run_for(std::chrono::milliseconds(100));
  CHECK(world.expelled == std::vector<RankId>{kDecode0});
  CHECK(world.node->peer(kDecode0) == before);
  const auto still_nobody = world.start(20, 4);
  CHECK(world.take(*still_nobody).code() == Errc::unavailable);
  world.restart(kDecode0);
  world.run_for(std::chrono::milliseconds(1));
  const auto second = world.start(100, 10);
  CHECK(world.take(*second).ok());
  CHECK(world.expelled.size() == 1);
}

// The heartbeats of the whole time lie in its inbox when it wakes, one rank's behind the other's.
TEST_CASE("Liveness: the front that froze finds its ranks alive, however long it was") {
  for (int milliseconds = 5; milliseconds <= 105; milliseconds += 5) {
    CAPTURE(milliseconds);
    WatchedWorld world(watched_node(2, 2));
    world.run_for(std::chrono::milliseconds(22));
    world.front.freeze(true);
    world.run_for(std::chrono::milliseconds(milliseconds));
    world.front.freeze(false);
    world.run_for(std::chrono::milliseconds(100));
    const auto generation = world.start(100, 10);
    CHECK(world.take(*generation).ok());
    CHECK(world.expelled.empty());
  }
}
