// The node as a supervisor handles it: several routers, links with something in between, ranks that die.
#include "roles/node.h"

#include <set>

#include <doctest/doctest.h>

#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

constexpr RankId kPrefill0{Role::prefill, 0};
constexpr RankId kDecode0{Role::decode, 0};

// Counts what goes through it.
class CountingLink final : public ControlLink {
 public:
  explicit CountingLink(ControlLink& inner) : inner_(inner) {}
  void post(RankId to, RankMessage message) override {
    ++posted;
    inner_.post(to, std::move(message));
  }
  void post_router(RankId router, RouterMessage message) override {
    ++posted;
    inner_.post_router(router, std::move(message));
  }
  std::size_t posted = 0;

 private:
  ControlLink& inner_;
};

}  // namespace

TEST_CASE("Node: each router hears of its own rooms from ranks they share") {
  NodeConfig config = small_node(2, 2);
  config.routers = 2;
  ToyWorld world(config);
  Outcome first;
  Outcome second;
  const GenerationRequest request = world.request(100, 10);
  const auto client = [&]() -> Task<> {
    world.node->router(1).open_for_work();
    auto one = world.node->router(0).start(request);
    auto two = world.node->router(1).start(request);
    CHECK(world.node->router(0).open_requests() == 1);
    CHECK(world.node->router(1).open_requests() == 1);
    Task<Outcome> pending = world.collect(std::move(one));
    first = co_await std::move(pending);
    Task<Outcome> other = world.collect(std::move(two));
    second = co_await std::move(other);
    world.node->router(1).stop();
  };
  world.run(client());
  CHECK(first.tokens == world.reference(request));
  CHECK(second.tokens == world.reference(request));
  CHECK(world.drained_after_run);
}

TEST_CASE("Node: every rank and router posts through the link that was put before it") {
  std::map<RankId, std::unique_ptr<CountingLink>> links;
  NodeConfig config = small_node();
  ToyWorld world(config, {}, {}, [&](RankId self, ControlLink& inner) -> ControlLink& {
    links[self] = std::make_unique<CountingLink>(inner);
    return *links[self];
  });
  const std::vector<Outcome> outcomes = run_all(world, {world.request(40, 4)});
  CHECK(outcomes[0].ok());
  CHECK(links.size() == 3);
  for (const auto& [rank, link] : links) {
    CAPTURE(to_string(rank));
    CHECK(link->posted > 0);
  }
}

TEST_CASE("Node: a rank that is built anew is another instance with an empty pool, and its history stays") {
  NodeConfig config = small_node();
  config.copying = true;
  config.trace_events = 1000;
  ToyWorld world(config);
  Node& node = *world.node;
  const PeerId before = node.peer(kDecode0);
  const PeerId prefill = node.peer(kPrefill0);
  const auto client = [&]() -> Task<> {
    const Outcome outcome = co_await world.ask(world.request(40, 4));
    CHECK(outcome.ok());
    node.stop_ranks();
    co_await pause(world.context, std::chrono::seconds(1));
    const std::size_t noted = node.trace().size();
    CHECK(noted > 0);
    node.crash(kDecode0);
    CHECK(node.pool(kDecode0) == nullptr);
    CHECK(node.arena(kDecode0) == nullptr);
    CHECK(node.drained(kDecode0));
    node.restart(kDecode0);
    CHECK(node.peer(kDecode0).rank == kDecode0);
    CHECK(node.peer(kDecode0) != before);
    CHECK(node.peer(kPrefill0) == prefill);
    CHECK(node.pool(kDecode0)->drained());
    CHECK(node.arena(kDecode0) != nullptr);
    CHECK(node.trace().size() == noted);
    node.restart(kPrefill0);
    CHECK(node.peer(kPrefill0) != prefill);
    CHECK(node.pool(kPrefill0) != nullptr);
  };
  world.run(client());
  CHECK(world.drained_after_run);
}

TEST_CASE("Node: counts that cannot work are refused") {
  NodeConfig config = small_node();
  config.routers = 0;
  CHECK_THROWS_AS(ToyWorld{config}, Error);
}
