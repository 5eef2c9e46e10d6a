// The published rows of DeepSeek-V3 on 96 H100 (LMSYS blog, 5 May 2025) as replays: the runtime's own scheduler on the
// cluster file of that report, its ranks in groups that step together, under a load that keeps the measured half busy.
//
// The cost model alone is held to the rows by tests/sim/cost/lmsys_test.cc. Here tokens per second and node come out of
// the run; what they differ by from the closed figure (tokens of a full step over its time) is the scheduler.

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cluster/cluster_cost.h"
#include "tests/sim/groundtruth/published_cluster.h"

namespace baton::sim {
namespace {

constexpr double kNodeGpus = 8;

struct Row {
  const char* name;
  std::uint32_t input;
  std::uint32_t output;
  double published;  // tokens per second and node
};

// Tokens per second and node where every rank of a group runs `load` in every step and gets `tokens` out of it.
double closed_figure(const PoolSpec& pool, const StepLoad& load, double tokens) {
  const std::vector<StepLoad> group(pool.setup.parallel.dp, load);
  return kNodeGpus * tokens / seconds(make_cost_model(pool)->group_cost(group).total);
}

void compare(const Row& row, double replayed, double closed) {
  fmt::print("{}: {:.0f} tokens/s and node, published {:.0f} ({:+.1f} %), closed figure {:.0f} ({:+.2f} %)\n", row.name,
             replayed, row.published, 100 * (replayed / row.published - 1), closed, 100 * (replayed / closed - 1));
  CHECK(std::abs(replayed / row.published - 1) < 0.15);
  CHECK(std::abs(replayed / closed - 1) < 0.03);
}

void replay_prefill(const Row& row, bool balanced) {
  constexpr std::uint32_t kSteps = 8;
  ClusterSpec cluster = read_cluster("examples/clusters/lmsys-96h100.toml");
  cluster.links.infinite = true;
  PoolSpec& pool = *cluster.prefill;
  if (balanced) {
    pool.setup.expert_skew = 1;
  }
  const std::uint32_t prompts = pool.limits.step_tokens / row.input;
  const Throughput seen = throughput(cluster, equal_requests(kSteps * prompts * pool.ranks, row.input, row.output));
  CHECK(seen.failures == 0);
  StepLoad load;
  for (std::uint32_t i = 0; i < prompts; ++i) {
    load.add_prefill(row.input, 0, true);
  }
  compare(row, seen.prompt_tokens_per_s * kNodeGpus / pool.ranks, closed_figure(pool, load, pool.limits.step_tokens));
}

struct DecodeSetup {
  std::uint32_t running = 256;
  bool overlap = true;
  Speculation speculation{};
};

double replay_decode(const Row& row, const DecodeSetup& setup) {
  constexpr std::uint32_t kWaves = 2;
  ClusterSpec cluster = read_cluster("examples/clusters/lmsys-96h100.toml");
  take_prefill_out_of_the_way(cluster);
  PoolSpec& pool = cluster.decode;
  pool.limits.running_max = setup.running;
  pool.running_tokens = 0;
  pool.setup.two_batch_overlap = setup.overlap;
  pool.setup.speculation = setup.speculation;
  const Throughput seen =
      throughput(cluster, equal_requests(kWaves * setup.running * pool.ranks, row.input, row.output));
  CHECK(seen.failures == 0);
  StepLoad load;
  for (std::uint32_t i = 0; i < setup.running; ++i) {
    load.add_decode(row.input + row.output / 2, 1 + setup.speculation.drafts);
  }
  const double replayed = seen.decoded_tokens_per_s * kNodeGpus / pool.ranks;
  compare(row, replayed, closed_figure(pool, load, setup.running * setup.speculation.tokens_per_step()));
  return replayed;
}

TEST_CASE("96 GPUs, replayed: four nodes compute prompts as fast as published, within 15 %") {
  replay_prefill({"prefill 1 k", 1024, 1, 57'674}, false);
  replay_prefill({"prefill 2 k", 2048, 1, 54'543}, false);
  replay_prefill({"prefill 4 k", 4096, 1, 50'302}, false);
  replay_prefill({"prefill 4 k, balanced", 4096, 1, 59'337}, true);
}

TEST_CASE("96 GPUs, replayed: nine nodes decode as fast as published, within 15 %") {
  const double with = replay_decode({"decode 256", 2000, 100, 22'282}, {});
  const double without = replay_decode({"decode 256 without overlap", 2000, 100, 17'777}, {256, false, {}});
  fmt::print("two-batch overlap gains {:+.1f} % (published +25.5)\n", 100 * (with / without - 1));
  CHECK(std::abs(with / without - 1.255) < 0.05);
  replay_decode({"decode 128 of 4 k with one draft", 4000, 100, 17'373}, {128, true, {1, {0.6}, 1}});
}

}  // namespace
}  // namespace baton::sim
