// The simulated runtime against another simulator, request by request (T2).
//
// simdistserve (github.com/LLMServe/DistServe) has no router, no pages and no hand-over. Given its step times, links
// that take no time and a decode rank that batches as it does, the runtime must give each request its times.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/cluster/plan_cluster.h"
#include "sim/cost/csv_table.h"
#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {
namespace {

struct Golden {
  std::vector<TraceRequest> requests;
  std::vector<double> ttft;  // ms
  std::vector<double> tpot;
};

Golden read_golden() {
  const CsvTable table = CsvTable::read("tests/data/golden/simdistserve_opt66b.csv");
  const auto number = [&](std::size_t row, std::string_view name) { return table.number(row, table.column(name)); };
  Golden golden;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    TraceRequest request;
    request.id = std::to_string(i);
    request.arrival = Duration(std::llround(1e9 * number(i, "arrival_s")));
    request.input_tokens = static_cast<std::uint32_t>(number(i, "prompt"));
    request.output_tokens =
        1 + static_cast<std::uint32_t>(number(i, "output"));  // prefill's token is not counted there
    golden.requests.push_back(std::move(request));
    golden.ttft.push_back(number(i, "ttft_ms"));
    golden.tpot.push_back(number(i, "tpot_ms"));
  }
  return golden;
}

// By request, in ms.
struct Times final : ReplaySink {
  explicit Times(std::size_t count) : ttft(count), tpot(count) {}

  void tokens(TimePoint, std::span<const TimePoint>) override {}
  void ended(const TraceRequest& request, const RequestRecord& record) override {
    const std::size_t index = std::stoul(request.id);
    failed += record.ok() ? 0 : 1;
    ttft.at(index) = record.ttft_ms;
    tpot.at(index) = (record.e2e_ms - record.ttft_ms) / (request.output_tokens - 1);
  }

  std::vector<double> ttft;
  std::vector<double> tpot;
  std::size_t failed = 0;
};

ClusterPlan distserve_plan() {
  return plan_cluster(read_cluster("examples/clusters/distserve-opt66b.toml"), 1).plan;
}

Times replay(ClusterPlan plan, const Golden& golden) {
  ListSource source(golden.requests);
  Times times(golden.requests.size());
  ClusterWorld world(std::move(plan), source, times, {});
  world.run();
  return times;
}

struct Distance {
  std::size_t ttft = 0;  // requests that are off by more than 0.1 ms
  std::size_t tpot = 0;  // requests that are off by more than 0.1 %
  double ttft_mean = 0;  // of ours over theirs, less one
  double tpot_mean = 0;
};

Distance compare(const Times& times, const Golden& golden) {
  Distance distance;
  double sums[4] = {};
  for (std::size_t i = 0; i < golden.requests.size(); ++i) {
    distance.ttft += std::abs(times.ttft[i] - golden.ttft[i]) > 0.1 ? 1 : 0;
    distance.tpot += std::abs(times.tpot[i] / golden.tpot[i] - 1) > 1e-3 ? 1 : 0;
    sums[0] += times.ttft[i];
    sums[1] += golden.ttft[i];
    sums[2] += times.tpot[i];
    sums[3] += golden.tpot[i];
  }
  distance.ttft_mean = sums[0] / sums[1] - 1;
  distance.tpot_mean = sums[2] / sums[3] - 1;
  MESSAGE("beyond 0.1 ms TTFT: ", distance.ttft, ", beyond 0.1 % TPOT: ", distance.tpot, "; means off by ",
          distance.ttft_mean, " ", distance.tpot_mean);
  return distance;
}

TEST_CASE("T2: each of simdistserve's requests gets its times") {
  const Golden golden = read_golden();
  REQUIRE(golden.requests.size() == 1000);
  const Times times = replay(distserve_plan(), golden);
  CHECK(times.failed == 0);
  const Distance distance = compare(times, golden);
  CHECK(distance.ttft <= 10);
  CHECK(distance.tpot <= 10);
  CHECK(std::abs(distance.ttft_mean) < 1e-4);
  CHECK(std::abs(distance.tpot_mean) < 1e-4);
}

TEST_CASE("T2: with other rules of batching they do not") {
  const Golden golden = read_golden();
  ClusterPlan even = distserve_plan();
  even.decode_config.even_steps = true;
  even.decode_config.steps_in_flight = 2;
  CHECK(compare(replay(std::move(even), golden), golden).tpot > 500);
  ClusterPlan two = distserve_plan();
  two.decode_config.steps_in_flight = 2;
  CHECK(compare(replay(std::move(two), golden), golden).tpot > 500);
}

}  // namespace
}  // namespace baton::sim
