#include "roles/policy/prefill_batch.h"

#include <algorithm>

#include "runtime/check.h"

namespace baton::policy {

std::vector<PrefillChunk> plan_prefill(std::span<const std::uint32_t> remaining, const PrefillLimits& limits) {
  BATON_CHECK(limits.step_tokens > 0 && limits.step_sequences > 0, limits.step_tokens, limits.step_sequences);
  std::vector<PrefillChunk> plan;
  std::uint32_t budget = limits.step_tokens;
  for (std::size_t i = 0; i < remaining.size() && budget > 0 && plan.size() < limits.step_sequences; ++i) {
    BATON_CHECK(remaining[i] > 0, i);
    const std::uint32_t tokens = std::min(remaining[i], budget);
    plan.push_back({i, tokens});
    budget -= tokens;
  }
  return plan;
}

}  // namespace baton::policy
