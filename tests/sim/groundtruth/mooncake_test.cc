// What Mooncake's authors say of their traces (R. Qin et al., FAST 2025), with the simulated runtime: how much of the
// conversations an unlimited cache holds, how the hits grow with the cache, how many of 16 nodes should compute
// prompts, and how fast links have to be.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cluster/cluster_cost.h"
#include "sim/cluster/run_cluster.h"
#include "sim/cost/csv_table.h"
#include "sim/workload/open_trace.h"
#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {
namespace {

const std::string kConversation = "examples/traces/mooncake_conversation.jsonl.gz";
const std::string kSynthetic = "examples/traces/mooncake_synthetic.jsonl.gz";

struct CacheSink final : ReplaySink {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t failures = 0;

  void tokens(TimePoint, std::span<const TimePoint>) override {}
  void ended(const TraceRequest&, const RequestRecord& record) override {
    prompt_tokens += record.prompt_tokens;
    cached_tokens += record.cached_tokens;
    failures += record.ok() ? 0 : 1;
  }
};

// The share of the conversations' prompts that one prefill rank finds in its cache, which computes them one by one and
// so fast that nobody waits.
double hits(std::uint64_t cache_tokens) {
  constexpr std::uint32_t kPage = 512;  // as the trace's blocks
  ClusterPlan plan = small_plan(1, 1, static_cast<std::uint32_t>(cache_tokens / kPage));
  auto cost = std::make_shared<LinearCost>();
  cost->constant = 1000;
  cost->prefill_token = cost->decode_sequence = cost->context_thousand = 0;
  plan.prefill.cost = plan.decode.cost = cost;
  plan.layout = small_layout(kPage);
  plan.decode.pages = 1U << 20;
  plan.prefix_cache = true;
  plan.prefill_config.step = {1U << 20, 1};
  plan.network.infinite = true;
  TraceOptions trace;
  trace.drop_failed = true;
  trace.caps.output = 1;
  const std::unique_ptr<RequestSource> source = open_trace(kConversation, trace);
  CacheSink sink;
  ClusterWorld world(plan, *source, sink, {});
  world.run();
  CHECK(sink.failures == 0);
  const double share = static_cast<double>(sink.cached_tokens) / static_cast<double>(sink.prompt_tokens);
  fmt::print("cache of {:>6.1f} M tokens: {:.2f} % of the conversations' prompt tokens\n",
             static_cast<double>(cache_tokens) / 1e6, 100 * share);
  return share;
}

struct Served {
  double effective = 0;         // share of requests within 10 s to the first token and 100 ms between tokens on average
  double effective_always = 0;  // likewise, but no gap between tokens is longer
  double ttft_ms = 0;
  double tpot_ms = 0;
};

// The synthetic trace at its own rate.
Served serve(const ClusterSpec& cluster) {
  std::uint64_t requests = 0;
  std::uint64_t effective = 0;
  std::uint64_t always = 0;
  RunOptions options;
  options.on_record = [&](const RequestRecord& record) {
    const bool in_time = record.ok() && record.ttft_ms <= 10'000;
    requests += 1;
    effective += in_time && !(record.tpot_ms > 100) ? 1 : 0;
    always += in_time && !(record.itl_max_ms > 100) ? 1 : 0;
  };
  TraceOptions trace;
  trace.drop_failed = true;
  const RunOutcome outcome = run_cluster(cluster, *open_trace(kSynthetic, trace), options);
  const auto share = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(requests); };
  return {share(effective), share(always), outcome.result.requests.ttft().mean(),
          outcome.result.requests.tpot().mean()};
}

using Sweep = std::map<std::uint32_t, Served>;  // by the number of nodes that compute prompts

const Sweep& sweep() {
  static const Sweep all = [] {
    ClusterSpec cluster = read_cluster("examples/clusters/mooncake-70b.toml");
    Sweep seen;
    for (std::uint32_t prefill = 5; prefill <= 11; ++prefill) {
      cluster.prefill->ranks = prefill;
      cluster.decode.ranks = 16 - prefill;
      const Served& served = seen[prefill] = serve(cluster);
      fmt::print(
          "{:>2} to {:>2}: {:.1f} % of requests effective ({:.1f} % by their longest gaps), mean TTFT {:.0f} ms, TPOT "
          "{:.1f} ms\n",
          prefill, 16 - prefill, 100 * served.effective, 100 * served.effective_always, served.ttft_ms, served.tpot_ms);
    }
    return seen;
  }();
  return all;
}

std::uint32_t best_by(double Served::* share) {
  return std::ranges::max_element(sweep(), {}, [&](const auto& split) { return split.second.*share; })->first;
}

TEST_CASE("Mooncake: the conversations' prefixes are 37.4 % of their prompts, and smaller caches hold less") {
  const double all = hits(150'000'000);  // more than all prompts together
  CHECK(std::abs(all - 0.374) <= 0.001);
  double last = all;
  std::map<std::uint64_t, double> curve;
  for (const std::uint64_t millions : {50U, 10U, 3U, 1U}) {
    curve[millions] = hits(1'000'000 * millions);
    CHECK(curve[millions] <= last);
    last = curve[millions];
  }
  CHECK(curve[3] < all / 2);
  CHECK(curve[50] > 0.95 * all);
}

TEST_CASE("Mooncake: its decode ranks take the time that Splitwise's authors measured, within 7 %") {
  const ClusterSpec cluster = read_cluster("examples/clusters/mooncake-70b.toml");
  const std::unique_ptr<CostModel> model = make_cost_model(cluster.decode);
  const CsvTable table = CsvTable::read("tests/data/groundtruth/splitwise_llama2_70b_a100.csv");
  REQUIRE(table.rows() == 12);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto sequences = static_cast<std::uint32_t>(table.number(row, table.column("sequences")));
    const auto context = static_cast<std::uint32_t>(table.number(row, table.column("context")));
    StepLoad load;
    for (std::uint32_t i = 0; i < sequences; ++i) {
      load.add_decode(context / sequences);
    }
    const double measured = table.number(row, table.column("decode_ms"));
    CHECK(1e3 * seconds(model->cost(load).total) == doctest::Approx(measured).epsilon(0.07));
  }
}

// Figure 15 of the paper: of 16 nodes, 5 to 11 compute prompts, and the "effective request capacity" is the share of
// requests whose first token comes within 10 s and whose TBT is at most 100 ms. TBT is the mean of a request's longest
// tenth of gaps, which lies between the mean of all and the longest one: both are counted here.
//
// What steps of Mooncake's own engine took is not published. With decode steps by the data sheet or by constants fitted
// to later engines (17 ms) five nodes are enough for decode, and the share does not fall again towards 11 to 5. With
// those that Splitwise's authors measured on the same kind of GPU it does. Their prompts, at 5,300 tokens a second and
// node, are too slow for this trace at any split, which Mooncake's were not.
TEST_CASE("Mooncake: of 16 nodes, 7 to 9 compute prompts best on the synthetic trace") {
  for (const auto share : {&Served::effective, &Served::effective_always}) {
    const std::uint32_t best = best_by(share);
    CHECK((best >= 7 && best <= 9));
    for (const std::uint32_t edge : {5U, 11U}) {
      CHECK(sweep().at(edge).*share < 0.95 * (sweep().at(best).*share));
    }
  }
}

TEST_CASE("Mooncake: the more nodes compute prompts, the sooner first tokens come, and the later the others") {
  for (std::uint32_t prefill = 6; prefill < 11; ++prefill) {
    CHECK(sweep().at(prefill + 1).ttft_ms < sweep().at(prefill).ttft_ms);
    CHECK(sweep().at(prefill + 1).tpot_ms > sweep().at(prefill).tpot_ms);
  }
}

// The knee of a curve is where it bends most: the largest second difference of log TTFT over log bandwidth. Figure
// 13 of the paper goes from 24 to 400 Gb/s, and mean TTFT stays below 2 s from 100 Gb/s on.
TEST_CASE("Mooncake: the time to the first token has its knee between links of 50 and of 200 Gb/s a node") {
  ClusterSpec cluster = read_cluster("examples/clusters/mooncake-70b.toml");
  constexpr std::array kGbits{12.5, 25.0, 50.0, 100.0, 200.0, 400.0, 800.0};
  std::array<double, kGbits.size()> ttft{};
  for (std::size_t i = 0; i < kGbits.size(); ++i) {
    cluster.prefill->nic_bytes_per_s = cluster.decode.nic_bytes_per_s = 1e9 / 8 * kGbits[i];
    ttft[i] = serve(cluster).ttft_ms;
    fmt::print("{:>5} Gb/s a node: mean TTFT {:.0f} ms\n", kGbits[i], ttft[i]);
  }
  double knee = 0;
  double sharpest = 0;
  for (std::size_t i = 1; i + 1 < kGbits.size(); ++i) {
    const double bend = std::log(ttft[i - 1]) - 2 * std::log(ttft[i]) + std::log(ttft[i + 1]);
    if (bend > sharpest) {
      sharpest = bend;
      knee = kGbits[i];
    }
  }
  fmt::print("knee at {} Gb/s\n", knee);
  CHECK((knee >= 50 && knee <= 200));
  CHECK(ttft[2] > 2000);
  CHECK(ttft[3] < 2000);
}

}  // namespace
}  // namespace baton::sim
