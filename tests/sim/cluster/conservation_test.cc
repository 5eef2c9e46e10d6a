// Nothing is lost and nothing depends on chance (T4).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {
namespace {

struct Drawn {
  ClusterPlan plan;
  std::vector<TraceRequest> requests;
};

// A cluster and a load of any kind: pages may be short, requests may be too large, deadlines may pass.
Drawn draw(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  const auto pick = [&random](std::uint64_t n) { return static_cast<std::uint32_t>(random.uniform(n)); };
  const std::uint32_t prefill = 1 + pick(3);
  const std::uint32_t decode = 1 + pick(3);
  const std::uint32_t pages = 40 + pick(400);
  Drawn drawn{small_plan(prefill, decode, pages), {}};
  ClusterPlan& plan = drawn.plan;
  plan.seed = plan.router_config.seed = seed;
  plan.aggregated = pick(4) == 0;
  auto cost = std::make_shared<LinearCost>();
  cost->pipeline = 1 + pick(3);
  plan.prefill.cost = plan.decode.cost = cost;
  plan.prefill_config.steps_in_flight = plan.decode_config.steps_in_flight = cost->pipeline;
  plan.prefix_cache = pick(2) == 0;
  plan.stream_layers = pick(2) == 0;
  plan.model_layers = 8;
  plan.router_config.routing = static_cast<policy::Routing>(pick(3));
  plan.router_config.time_limit = std::chrono::milliseconds(pick(3) == 0 ? 200 : 60'000);
  plan.decode_config.running_max = 1 + pick(12);
  plan.decode_config.waiting_max = pick(3) == 0 ? 8 : 1U << 20;
  const auto gap = std::chrono::microseconds(500 + pick(20'000));
  drawn.requests = random_requests(seed, count, gap, 500, 120);
  for (TraceRequest& request : drawn.requests) {
    request.block_tokens = 16;
    const std::uint64_t family = pick(5);
    for (std::uint32_t block = 0; block < request.input_tokens / 16; ++block) {
      request.blocks.push_back(family * 1000 + block);
    }
  }
  return drawn;
}

std::vector<std::string> log_of(const Drawn& drawn) {
  ListSource source(drawn.requests);
  LogSink sink;
  ClusterWorld world(drawn.plan, source, sink, {});
  world.run();
  return sink.lines;
}

bool adds_up(const KvPool& pool) {
  return pool.free() + pool.leased() + pool.cached() + pool.quarantined() == pool.capacity();
}

}  // namespace

TEST_CASE("T4: at every event each request is somewhere once, and pages add up") {
  std::uint64_t failures = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Drawn drawn = draw(seed, 50);
    ListSource source(drawn.requests);
    LogSink sink;
    ClusterWorld world(drawn.plan, source, sink, {});
    std::uint64_t wrong = 0;
    const auto look = [&] {
      wrong += world.started() >= sink.lines.size() + world.node().router().open_requests() ? 0 : 1;
      for (const RankId rank : world.node().ranks()) {
        wrong += adds_up(*world.node().pool(rank)) ? 0 : 1;
      }
      return true;
    };
    world.ask(look, 1);
    world.run();
    CHECK(wrong == 0);
    CHECK(sink.lines.size() == drawn.requests.size());
    CHECK(world.node().drained());
    failures += sink.failures;
  }
  CHECK(failures > 0);  // the loads are not all easy
}

TEST_CASE("T4: stages of a request are in order and sum to its time") {
  struct Stages final : ReplaySink {
    std::uint64_t wrong = 0;
    void tokens(TimePoint before, std::span<const TimePoint> ends) override {
      wrong += std::ranges::is_sorted(ends) && before < ends.front() ? 0 : 1;
    }
    void ended(const TraceRequest&, const RequestRecord& record) override {
      double sum = 0;
      for (const double stage : record.stages_ms) {
        wrong += stage >= 0 ? 0 : 1;
        sum += stage;
      }
      wrong += !record.ok() || std::abs(sum - record.e2e_ms) < 1e-6 ? 0 : 1;
      wrong += !record.ok() || record.ttft_ms <= record.e2e_ms ? 0 : 1;
    }
  };
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    CAPTURE(seed);
    const Drawn drawn = draw(seed, 80);
    ListSource source(drawn.requests);
    Stages sink;
    ClusterWorld world(drawn.plan, source, sink, {});
    world.run();
    CHECK(sink.wrong == 0);
  }
}

TEST_CASE("T4: the same cluster, load and seed give the same log every time and on every thread") {
  for (std::uint64_t seed = 200; seed < 203; ++seed) {
    CAPTURE(seed);
    const Drawn drawn = draw(seed, 120);
    const std::vector<std::string> first = log_of(drawn);
    for (int i = 0; i < 10; ++i) {
      CHECK(log_of(drawn) == first);
    }
    std::vector<std::vector<std::string>> logs(4);
    std::vector<std::thread> threads;
    for (auto& log : logs) {
      threads.emplace_back([&log, &drawn] { log = log_of(drawn); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const auto& log : logs) {
      CHECK(log == first);
    }
  }
}

TEST_CASE("T4: Little's law holds at each station") {
  struct Sums final : ReplaySink {
    double queued_ms = 0;
    double computing_ms = 0;
    double running_ms = 0;
    void tokens(TimePoint, std::span<const TimePoint>) override {}
    void ended(const TraceRequest&, const RequestRecord& record) override {
      CHECK(record.ok());
      queued_ms += record.stage_ms(Stage::wait_decode_slot) + record.stage_ms(Stage::queue_prefill);
      computing_ms += record.stage_ms(Stage::prefill);
      running_ms += record.stage_ms(Stage::decode);
    }
  };
  ClusterPlan plan = small_plan(2, 2, 20'000);
  plan.prefill_config.step = {1U << 20, 1};  // one prompt a step, so that its stage is the time in the engine
  ListSource source(random_requests(9, 20'000, std::chrono::milliseconds(4), 900, 100));
  Sums sums;
  ReplayOptions options;
  options.sample_period = std::chrono::nanoseconds(200'003);  // in step with nothing
  options.samples_max = 1U << 20;
  ClusterWorld world(plan, source, sums, options);
  world.run();
  double queued = 0;
  double computing = 0;
  double running = 0;
  for (const ClusterSample& sample : world.sampler().samples()) {
    queued += sample.waiting_prefill;
    computing += sample.computing_prefill;
    running += sample.running_decode;
  }
  const auto samples = static_cast<double>(world.sampler().samples().size());
  const double span_ms = milliseconds_of(world.now());
  MESSAGE("queued ", queued / samples, " law ", sums.queued_ms / span_ms, "; computing ", computing / samples, " law ",
          sums.computing_ms / span_ms, "; running ", running / samples, " law ", sums.running_ms / span_ms);
  CHECK(queued / samples == doctest::Approx(sums.queued_ms / span_ms).epsilon(0.005));
  CHECK(computing / samples == doctest::Approx(sums.computing_ms / span_ms).epsilon(0.005));
  CHECK(running / samples == doctest::Approx(sums.running_ms / span_ms).epsilon(0.005));
}

}  // namespace baton::sim
