#include "roles/policy/mixed_batch.h"

#include <algorithm>

namespace baton::policy {

std::vector<std::uint32_t> plan_mixed(std::span<const std::uint32_t> remaining, const MixedLimits& limits) {
  std::vector<std::uint32_t> rows(remaining.size(), 0);
  std::uint32_t singles = 0;
  for (std::size_t i = 0; i < remaining.size(); ++i) {
    if (remaining[i] == 1) {
      rows[i] = 1;
      ++singles;
    }
  }
  std::uint32_t budget = limits.step_tokens > singles ? limits.step_tokens - singles : 0;
  for (std::size_t i = 0; i < remaining.size() && budget > 0; ++i) {
    if (remaining[i] > 1) {
      rows[i] = std::min(remaining[i], budget);
      budget -= rows[i];
    }
  }
  return rows;
}

}  // namespace baton::policy
