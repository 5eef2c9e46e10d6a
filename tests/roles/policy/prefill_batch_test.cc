#include "roles/policy/prefill_batch.h"

#include <numeric>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

using baton::policy::plan_prefill;
using baton::policy::PrefillChunk;
using baton::policy::PrefillLimits;

TEST_CASE("Prefill plan: the oldest prompt gets the whole budget before the next one starts") {
  const std::vector<std::uint32_t> remaining{1000, 10};
  CHECK(plan_prefill(remaining, {256, 8}) == std::vector<PrefillChunk>{{0, 256}});
}

TEST_CASE("Prefill plan: what a finished prompt leaves goes to the next ones in order") {
  const std::vector<std::uint32_t> remaining{100, 30, 500};
  CHECK(plan_prefill(remaining, {256, 8}) == std::vector<PrefillChunk>{{0, 100}, {1, 30}, {2, 126}});
}

TEST_CASE("Prefill plan: the number of sequences is bounded") {
  const std::vector<std::uint32_t> remaining(10, 1);
  CHECK(plan_prefill(remaining, {256, 3}).size() == 3);
}

TEST_CASE("Prefill plan: random queues keep order, budget and progress") {
  baton::test::Pick random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint32_t> remaining(random(12));
    for (auto& tokens : remaining) {
      tokens = 1 + random(600);
    }
    const PrefillLimits limits{1 + random(512), 1 + random(8)};
    const auto plan = plan_prefill(remaining, limits);
    CHECK(plan.empty() == remaining.empty());
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      CHECK(plan[i].index == i);  // nobody is skipped
      CHECK(plan[i].tokens >= 1);
      CHECK(plan[i].tokens <= remaining[i]);
      const bool whole = plan[i].tokens == remaining[i];
      CHECK((whole || i + 1 == plan.size()));  // only the last chunk is a part of its prompt
      total += plan[i].tokens;
    }
    CHECK(total <= limits.step_tokens);
    const auto all = std::accumulate(remaining.begin(), remaining.end(), std::uint64_t{0});
    const bool work_conserving = total == limits.step_tokens || total == all || plan.size() == limits.step_sequences;
    CHECK(work_conserving);
  }
}
