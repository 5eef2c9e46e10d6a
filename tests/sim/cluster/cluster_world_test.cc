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

}  // namespace baton::sim
