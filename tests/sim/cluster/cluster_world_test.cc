#include "sim/cluster/cluster_world.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

// Its whole blocks are those of all others of the family.
void share_blocks(TraceRequest& request, std::uint64_t family) {
  request.block_tokens = 16;
  for (std::uint32_t block = 0; block < request.input_tokens / request.block_tokens; ++block) {
    request.blocks.push_back(family * 1000 + block);
  }
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

// Times to the first token of the requests by their ids, and how many prompt tokens the engines computed.
struct Waits {
  std::map<std::string, double> ttft_ms;
  std::uint64_t computed = 0;
};

Waits waits(const ClusterPlan& plan, std::vector<TraceRequest> requests) {
  ListSource source(std::move(requests));
  struct Sink final : ReplaySink {
    Waits waits;
    void tokens(TimePoint, std::span<const TimePoint>) override {}
    void ended(const TraceRequest& request, const RequestRecord& record) override {
      CHECK(record.ok());
      waits.ttft_ms[request.id] = record.ttft_ms;
    }
  } sink;
  ClusterWorld world(plan, source, sink, {});
  world.run();
  for (const auto& [rank, account] : world.accounts()) {
    sink.waits.computed += account.prefill_tokens;
  }
  return sink.waits;
}

TraceRequest one_request(const std::string& id, Duration arrival, std::uint32_t input, std::uint32_t output) {
  TraceRequest request;
  request.id = id;
  request.arrival = arrival;
  request.input_tokens = input;
  request.output_tokens = output;
  return request;
}

// Two requests of twelve pages run, one of them is made to go after the twentieth step, and comes back at once: 12 ms
// each way. Whoever arrives at whatever moment of it waits for that and for a few steps, not for a request to end.
TEST_CASE("ClusterWorld: who arrives while pages go to the host and back is admitted as soon as they are back") {
  ClusterPlan plan = small_plan(1, 1, 4000);
  plan.decode.host_bytes_per_s = 1e6;
  plan.decode_config.retract_every = 20;
  for (int ms = 10; ms < 80; ++ms) {
    CAPTURE(ms);
    const Waits seen = waits(plan, {one_request("a", {}, 160, 400), one_request("b", {}, 160, 400),
                                    one_request("x", std::chrono::milliseconds(ms), 16, 10)});
    CHECK(seen.ttft_ms.at("x") < 45);
  }
}

// Each prompt fills a step of 10 ms. One request decodes all along, so that a step always runs while the next is made
// up.
TEST_CASE("ClusterWorld: prompts that queue fill one step after the other, also where steps are planned ahead") {
  for (const bool ahead : {false, true}) {
    CAPTURE(ahead);
    ClusterPlan plan = small_plan(0, 1, 4000);
    plan.aggregated = true;
    auto cost = std::make_shared<LinearCost>();
    cost->constant = 10'000'000;
    cost->prefill_token = cost->decode_sequence = cost->context_thousand = 0;
    plan.decode.cost = cost;
    plan.decode_config.step.step_tokens = 256;
    plan.decode_config.plan_ahead = ahead;
    std::vector<TraceRequest> requests{one_request("0", {}, 16, 200)};
    for (int i = 1; i <= 20; ++i) {
      requests.push_back(one_request(std::to_string(i), std::chrono::milliseconds(15), 255, 2));
    }
    const Waits seen = waits(plan, std::move(requests));
    CHECK(seen.ttft_ms.at("20") < 10 * (20 + 4));
  }
}

TEST_CASE("ClusterWorld: prompts are in as many stages of a pipeline at once as it has") {
  const auto last_ms = [](std::uint32_t stages) {
    ClusterPlan plan = small_plan(0, 1, 4000);
    plan.aggregated = true;
    auto cost = std::make_shared<LinearCost>();
    cost->pipeline = stages;
    plan.decode.cost = cost;
    plan.decode_config.step.step_tokens = 256;
    plan.decode_config.steps_in_flight = stages;
    std::vector<TraceRequest> requests;
    for (int i = 0; i < 40; ++i) {
      requests.push_back(one_request(std::to_string(i), {}, 256, 1));
    }
    return waits(plan, std::move(requests)).ttft_ms.at("39");
  };
  CHECK(last_ms(4) < 0.3 * last_ms(1));
}

// 1,300 tokens in blocks of 512: names for 64 of 81 pages. The request that is retracted shares them with the other.
TEST_CASE("ClusterWorld: what is computed again is what the cache has not, also where only some pages have names") {
  ClusterPlan plan = small_plan(0, 1, 4000);
  plan.aggregated = true;
  plan.prefix_cache = true;
  plan.decode_config.retract_every = 20;
  plan.decode_config.retraction = policy::Retraction::recompute;
  TraceRequest request = one_request("a", {}, 1300, 30);
  request.block_tokens = 512;
  request.blocks = {1, 2};
  TraceRequest later = request;
  later.id = "b";
  later.arrival = std::chrono::milliseconds(18);  // when the first one's prompt is there
  const Waits seen = waits(plan, {request, later});
  CHECK(seen.computed > 1300 + 2 * (1300 - 1024));
  CHECK(seen.computed < 1300 + 2 * (1300 - 1024) + 100);
}

TEST_CASE("ClusterWorld: rounds leave every client's log as single steps do, also where pages are short") {
  std::array<std::uint64_t, 2> cached_tokens{};  // with prefill and decode apart, aggregated
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
    plan.prefix_cache = pick(2) == 0;
    for (TraceRequest& request : requests) {
      share_blocks(request, pick(4));
    }
    LogSink single = replay(plan, requests, false);
    LogSink rounds = replay(plan, requests, true);
    cached_tokens[plan.aggregated ? 1 : 0] += rounds.cached_tokens;
    CHECK(single.lines == rounds.lines);
    std::ranges::sort(single.gaps);
    std::ranges::sort(rounds.gaps);
    CHECK(single.gaps == rounds.gaps);
  }
  CHECK(cached_tokens[0] > 10'000);
  CHECK(cached_tokens[1] > 10'000);
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

TEST_CASE("ClusterWorld: no prompt is taken that the smallest prefill pool could not hold") {
  ClusterPlan plan = in_two_kinds(small_plan(2, 2, 100));
  plan.more_prefill[0].pages = 10;  // 160 tokens
  const std::vector<TraceRequest> requests = random_requests(4, 40, std::chrono::milliseconds(2), 300, 100);
  const auto large = static_cast<std::uint64_t>(
      std::ranges::count_if(requests, [](const TraceRequest& request) { return request.input_tokens > 160; }));
  REQUIRE(large > 0);
  const LogSink log = replay(plan, requests, true);
  CHECK(log.failures == large);
  CHECK(std::ranges::none_of(log.lines,
                             [](const std::string& line) { return line.find("prefill/") != std::string::npos; }));
}

}  // namespace baton::sim
