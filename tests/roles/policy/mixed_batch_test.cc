#include "roles/policy/mixed_batch.h"

#include <doctest/doctest.h>

using namespace baton::policy;

TEST_CASE("Mixed plan: every decode row is taken, prompts share what is left of the budget in order") {
  const std::vector<std::uint32_t> remaining{1, 100, 1, 500, 0};
  CHECK(plan_mixed(remaining, {200}) == std::vector<std::uint32_t>{1, 100, 1, 98, 0});
}

TEST_CASE("Mixed plan: decode rows beyond the budget are taken nevertheless, prompts then wait") {
  const std::vector<std::uint32_t> remaining{1, 1, 1, 40};
  CHECK(plan_mixed(remaining, {2}) == std::vector<std::uint32_t>{1, 1, 1, 0});
}
