// What multi-token prediction gains, replayed: DeepSeek-V3 on 16 H200 with two sequences a rank after prompts of 65,536
// tokens (LMSYS blog on MTP, July 2025). There 60.4 tokens/s and rank without drafts became 81.5 with two (2.18 tokens
// a step) and 82.0 with three (2.44). Chances of drafts to hold are given so that steps yield as much; the runtime
// draws.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cluster/cluster_cost.h"
#include "tests/sim/groundtruth/published_cluster.h"

namespace baton::sim {
namespace {

constexpr std::uint32_t kInput = 65'536;
constexpr std::uint32_t kOutput = 4096;
constexpr std::uint32_t kRunning = 2;

constexpr const char* kCluster = R"(name = "16 H200"
model = "deepseek-v3"
page_tokens = 64
[precision]
weights = "fp8_block"
kv = "bf16"
[prefill]
ranks = 1
hardware = "h200"
tp = 16
cost = "fitted"
[decode]
ranks = 16
hardware = "h200"
dp = 16
ep = 16
cost = "fitted"
running_max = 2
[links]
latency_us = 20
)";

// The chance of each draft with which `drafts` of them yield `tokens` a step.
double chance_for(std::uint32_t drafts, double tokens) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 40; ++i) {
    const double chance = (low + high) / 2;
    const Speculation speculation{drafts, std::vector<double>(drafts, chance), 1};
    (speculation.tokens_per_step() < tokens ? low : high) = chance;
  }
  return low;
}

// Tokens per second and rank.
double replay(std::uint32_t drafts, double tokens_per_step) {
  ClusterSpec cluster = parse_cluster(kCluster, "drafts.toml");
  take_prefill_out_of_the_way(cluster);
  PoolSpec& pool = cluster.decode;
  if (drafts > 0) {
    pool.setup.speculation = {drafts, std::vector<double>(drafts, chance_for(drafts, tokens_per_step)), 1};
  }
  const Throughput seen = throughput(cluster, equal_requests(2 * kRunning * pool.ranks, kInput, kOutput));
  CHECK(seen.failures == 0);
  StepLoad load;
  for (std::uint32_t i = 0; i < kRunning; ++i) {
    load.add_decode(kInput + kOutput / 2, 1 + drafts);
  }
  const std::vector<StepLoad> group(pool.ranks, load);
  const double closed = kRunning * tokens_per_step / seconds(make_cost_model(pool)->group_cost(group).total);
  const double replayed = seen.decoded_tokens_per_s / pool.ranks;
  fmt::print("{} drafts: {:.1f} tokens/s and rank, closed figure {:.1f} ({:+.2f} %)\n", drafts, replayed, closed,
             100 * (replayed / closed - 1));
  CHECK(std::abs(replayed / closed - 1) < 0.03);
  return replayed;
}

TEST_CASE("drafts, replayed: two gain 1.35 and a third one next to nothing, as published") {
  const double plain = replay(0, 1);
  const double two = replay(2, 2.18);
  const double three = replay(3, 2.44);
  fmt::print("gain {:.2f} with two (published 1.35), {:.2f} with three (1.36); {:.1f} tokens/s without (60.4)\n",
             two / plain, three / plain, plain);
  CHECK(std::abs(two / plain - 1.35) < 0.15);
  CHECK(three / two < 1.05);
}

}  // namespace
}  // namespace baton::sim
