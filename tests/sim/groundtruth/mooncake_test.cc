// What Mooncake's authors say of their traces (R. Qin et al., FAST 2025), with the simulated runtime: how much of the
// conversations an unlimited cache holds, how the hits grow with the cache, how many of 16 nodes should compute
// prompts, and how fast links have to be.
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cluster/run_cluster.h"
#include "sim/report/summary.h"
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
  double good_share = 0;
  double ttft_ms = 0;
};

Served serve(const ClusterSpec& cluster, const std::string& trace, double rate_scale) {
  TraceOptions options;
  options.drop_failed = true;
  options.rate_scale = rate_scale;
  const RunOutcome outcome = run_cluster(cluster, *open_trace(trace, options), {});
  const Summary summary = summarize(outcome.result);
  return {summary.good_share, outcome.result.requests.ttft().mean()};
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

// Missed: with three times the trace's rate, where the split decides, 11 to 5 keeps 99 % of requests within their
// objectives, 10 to 6 94 %, 9 to 7 11 %. By the roofline nine decode steps in ten take less than 13 ms, an eighth of
// the objective, so that five nodes suffice for decode; what the steps of Mooncake's own engine took is not published.
TEST_CASE("Mooncake: of 16 nodes, 7 to 9 should compute prompts on the synthetic trace" * doctest::should_fail()) {
  ClusterSpec cluster = read_cluster("examples/clusters/mooncake-70b.toml");
  std::uint32_t best = 0;
  double best_share = 0;
  for (const std::uint32_t prefill : {5U, 7U, 8U, 9U, 10U, 11U}) {
    cluster.prefill->ranks = prefill;
    cluster.decode.ranks = 16 - prefill;
    const Served served = serve(cluster, kSynthetic, 3);
    fmt::print("{:>2} to {:>2}: {:.1f} % of requests within their objectives, mean TTFT {:.0f} ms\n", prefill,
               16 - prefill, 100 * served.good_share, served.ttft_ms);
    if (served.good_share > best_share) {
      best = prefill;
      best_share = served.good_share;
    }
  }
  CHECK((best >= 7 && best <= 9));
}

// The knee: four times the rate halves the time below it, and takes off an eighth above it.
TEST_CASE("Mooncake: the time to the first token has its knee between links of 50 and of 200 Gb/s a node") {
  ClusterSpec cluster = read_cluster("examples/clusters/mooncake-70b.toml");
  std::map<int, double> ttft;
  for (const int gbits : {50, 100, 200, 800}) {
    cluster.prefill->nic_bytes_per_s = cluster.decode.nic_bytes_per_s = 1e9 / 8 * gbits;
    ttft[gbits] = serve(cluster, kSynthetic, 1).ttft_ms;
    fmt::print("{:>3} Gb/s a node: mean TTFT {:.0f} ms\n", gbits, ttft[gbits]);
  }
  CHECK(ttft[50] > 2 * ttft[200]);
  CHECK(ttft[200] < 1.2 * ttft[800]);
  CHECK(ttft[50] - ttft[200] > 5 * (ttft[200] - ttft[800]));
}

}  // namespace
}  // namespace baton::sim
