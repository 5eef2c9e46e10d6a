// The server in real time feels to its clients as the simulator says (T8a): 500 requests, engines that sleep what the
// cost model says, nothing led. Bars: means of TTFT and TPOT within 3 %, their 99th percentiles within 8 %.
//
// It takes 25 seconds a cluster and measures the machine's timers along: each step of the server ends late by what it
// prints, and a machine that is busy otherwise misses the bars for that reason alone.
#include <array>
#include <cmath>
#include <memory>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/parity/sleeping_engine.h"
#include "tests/sim/parity/parity_load.h"
#include "tests/sim/parity/real_cluster.h"

namespace baton::sim {
namespace {

constexpr double kMeanBar = 0.03;
constexpr double kTailBar = 0.08;
constexpr auto kLength = std::chrono::seconds(22);  // of the arrivals

struct Felt final : ReplaySink {
  SampleSet ttft_ms;
  SampleSet tpot_ms;
  std::uint64_t failures = 0;

  void add(const RequestRecord& record) {
    failures += record.ok() ? 0 : 1;
    ttft_ms.add(record.ttft_ms);
    if (!std::isnan(record.tpot_ms)) {
      tpot_ms.add(record.tpot_ms);
    }
  }
  void tokens(TimePoint, std::span<const TimePoint>) override {}
  void ended(const TraceRequest&, const RequestRecord& record) override { add(record); }
};

double tail(const SampleSet& samples) {
  constexpr std::array kShare = {0.99};
  return samples.quantiles(kShare).front();
}

// Steps of ten milliseconds and more: beside them the machine's timers are nearly exact.
ClusterPlan free_plan(bool aggregated) {
  LinearCost cost;
  cost.constant = 10'000'000;
  cost.prefill_token = 150'000;
  cost.decode_sequence = 500'000;
  cost.context_thousand = 1'000'000;
  ClusterPlan plan = parity_plan(aggregated, cost);
  plan.network = {};
  plan.network.infinite = true;  // hand-overs in memory
  plan.prefill.pages = plan.decode.pages = 1500;
  return plan;
}

void compare(const char* name, const SampleSet& simulated, const SampleSet& measured) {
  const double mean = measured.mean() / simulated.mean();
  const double p99 = tail(measured) / tail(simulated);
  MESSAGE(
      fmt::format("{}: mean {:.2f} ms simulated, {:.2f} measured, ratio {:.4f}; p99 {:.2f} and {:.2f}, ratio {:.4f}",
                  name, simulated.mean(), measured.mean(), mean, tail(simulated), tail(measured), p99));
  CHECK(std::abs(mean - 1) < kMeanBar);
  CHECK(std::abs(p99 - 1) < kTailBar);
}

void run_free(bool aggregated) {
  const ClusterPlan plan = free_plan(aggregated);
  const std::vector<TraceRequest> requests = parity_requests(kLength);
  Felt simulated;
  ListSource source(requests);
  ClusterWorld world(plan, source, simulated, {});
  world.run();

  Felt measured;
  Lateness lateness;
  RealCluster cluster(plan, [&](RankId rank) {
    const PoolPlan& pool = rank.role == Role::prefill ? plan.prefill : plan.decode;
    return std::make_unique<SleepingEngine>(pool.cost, plan.layout, plan.context_length, 1.0, lateness);
  });
  cluster.start([&measured](const RequestRecord& record) { measured.add(record); });
  cluster.arrive_in_time(requests);
  CHECK(cluster.finish());

  const SampleSet late = lateness.milliseconds();
  MESSAGE(fmt::format("{} steps, which ended late by {:.3f} ms in the mean, {:.3f} ms at p99, {:.3f} ms at most",
                      late.size(), late.mean(), tail(late), late.max()));
  CHECK(simulated.failures == 0);
  CHECK(measured.failures == 0);
  CHECK(measured.ttft_ms.size() == requests.size());
  compare("TTFT", simulated.ttft_ms, measured.ttft_ms);
  compare("TPOT", simulated.tpot_ms, measured.tpot_ms);
}

}  // namespace

TEST_CASE("Parity: clients of prefill and decode apart wait in real time as long as simulated ones") {
  run_free(false);
}

TEST_CASE("Parity: clients of ranks that do both wait in real time as long as simulated ones") {
  run_free(true);
}

}  // namespace baton::sim
