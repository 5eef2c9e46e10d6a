#include "sim/cluster/cluster_world.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {
namespace {

LogSink replay(const ClusterPlan& plan, const std::vector<TraceRequest>& requests, bool rounds) {
  ListSource source(requests);
  LogSink sink;
  ReplayOptions options;
  options.rounds = rounds;
  ClusterWorld world(plan, source, sink, options);
  world.run();
  CHECK(world.node().drained());
  CHECK(sink.lines.size() == requests.size());
  return sink;
}

}  // namespace

TEST_CASE("ClusterWorld: every request of a trace ends well where all fit") {
  const std::vector<TraceRequest> requests = random_requests(1, 200, std::chrono::milliseconds(5), 600, 60);
  const LogSink log = replay(small_plan(2, 2, 4000), requests, true);
  CHECK(log.failures == 0);
}

// Two requests of twelve pages each at the twentieth step, when one of them is made to go and comes back at once. The
// rank waits for both copies.
TEST_CASE("ClusterWorld: a retracted request's pages take their time to the host and back") {
  const auto last_end_ms = [](double host_bytes_per_s, policy::Retraction retraction) {
    ClusterPlan plan = small_plan(1, 1, 4000);
    plan.decode.host_bytes_per_s = host_bytes_per_s;
    plan.decode_config.retract_every = 20;
    plan.decode_config.retraction = retraction;
    TraceRequest request;
    request.input_tokens = 160;
    request.output_tokens = 30;
    ListSource source({request, request});
    LogSink sink;
    ClusterWorld world(plan, source, sink, {});
    world.run();
    for (const std::string& line : sink.lines) {
      CHECK(line.ends_with(line == sink.lines.back() ? "1" : "0"));  // retractions
    }
    return 1e-6 * static_cast<double>(world.now().count());
  };
  const double copied_ms = 1e3 * 12 * static_cast<double>(small_layout(16).page_bytes()) / 1e6;
  const double at_once = last_end_ms(0, policy::Retraction::copy);
  CHECK(last_end_ms(1e6, policy::Retraction::copy) == doctest::Approx(at_once + 2 * copied_ms).epsilon(1e-9));
  CHECK(last_end_ms(1e6, policy::Retraction::recompute) ==
        doctest::Approx(last_end_ms(0, policy::Retraction::recompute)));
}

TEST_CASE("ClusterWorld: rounds leave every client's log as single steps do, also where pages are short") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto pick = [&random](std::uint64_t n) { return static_cast<std::uint32_t>(random.uniform(n)); };
    const std::uint32_t prefill = 1 + pick(3);
    const std::uint32_t decode = 1 + pick(3);
    const std::uint32_t pages = 60 + pick(300);
    ClusterPlan plan = small_plan(prefill, decode, pages);
    plan.seed = seed;
    plan.aggregated = pick(4) == 0;
    plan.network.latency = std::chrono::microseconds(20);
    plan.network.per_message = std::chrono::microseconds(5);  // so that it matters which pages are neighbours
    plan.decode_config.running_max = 1 + pick(12);
    plan.decode_config.admission.lookahead_tokens = pick(2) * 64;
    plan.decode_config.plan_ahead = seed % 3 == 0;
    plan.decode_config.retraction = seed % 2 == 0 ? policy::Retraction::recompute : policy::Retraction::copy;
    plan.decode_config.victims = seed % 5 < 2 ? policy::Victims::latest : policy::Victims::least_lost;
    plan.decode.host_bytes_per_s = seed % 4 < 2 ? 1e6 : 0;
    const auto gap = std::chrono::microseconds(500 + pick(20'000));
    std::vector<TraceRequest> requests = random_requests(seed, 60, gap, 300, 120);
    LogSink single = replay(plan, requests, false);
    LogSink rounds = replay(plan, requests, true);
    CHECK(single.lines == rounds.lines);
    std::ranges::sort(single.gaps);
    std::ranges::sort(rounds.gaps);
    CHECK(single.gaps == rounds.gaps);
  }
}

// A plan with the same ranks, of which the last of each role are written down as a kind of their own.
ClusterPlan in_two_kinds(ClusterPlan plan) {
  plan.more_prefill.push_back(plan.prefill);
  plan.more_decode.push_back(plan.decode);
  for (PoolPlan* pool : {&plan.more_prefill[0], &plan.more_decode[0]}) {
    pool->ranks = 1;
  }
  --plan.prefill.ranks;
  --plan.decode.ranks;
  return plan;
}

TEST_CASE("ClusterWorld: two kinds of equal ranks are one kind") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    const ClusterPlan plan = small_plan(3, 2, 200);
    const std::vector<TraceRequest> requests = random_requests(seed, 80, std::chrono::milliseconds(4), 300, 100);
    CHECK(replay(plan, requests, true).lines == replay(in_two_kinds(plan), requests, true).lines);
  }
}

TEST_CASE("ClusterWorld: ranks of another kind have their own speed and pages") {
  ClusterPlan plan = in_two_kinds(small_plan(2, 2, 200));
  auto quick = std::make_shared<LinearCost>();
  quick->constant /= 10;
  quick->prefill_token /= 10;
  quick->decode_sequence /= 10;
  plan.more_prefill[0].cost = plan.more_decode[0].cost = quick;
  plan.more_decode[0].pages = 900;
  ListSource source(random_requests(3, 300, std::chrono::milliseconds(1), 300, 100));
  LogSink sink;
  ClusterWorld world(plan, source, sink, {});
  world.run();
  CHECK(sink.failures == 0);
  CHECK(world.node().drained());
  CHECK(world.node().pool({Role::decode, 0})->capacity() == 200);
  CHECK(world.node().pool({Role::decode, 1})->capacity() == 900);
  for (const Role role : {Role::prefill, Role::decode}) {
    const EngineAccount& slow = world.accounts().at({role, 0});
    const EngineAccount& fast = world.accounts().at({role, 1});
    CHECK(fast.prefill_tokens + fast.decode_tokens > slow.prefill_tokens + slow.decode_tokens);
  }
}

TEST_CASE("ClusterWorld: no request is taken that the smallest decode pool could not hold") {
  ClusterPlan plan = in_two_kinds(small_plan(2, 2, 100));
  plan.more_decode[0].pages = 10;  // 160 tokens
  std::vector<TraceRequest> requests = random_requests(4, 40, std::chrono::milliseconds(2), 300, 100);
  std::uint64_t large = 0;
  for (const TraceRequest& request : requests) {
    large += request.input_tokens + request.output_tokens > 160 ? 1 : 0;
  }
  REQUIRE(large > 0);
  CHECK(replay(plan, requests, true).failures == large);
}

}  // namespace baton::sim
