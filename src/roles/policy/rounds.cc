#include "roles/policy/rounds.h"

#include <algorithm>
#include <limits>

#include "roles/policy/admission.h"

namespace baton::policy {

std::uint32_t pages_for_rounds(const RoundCandidate& one, std::uint32_t rounds, std::uint32_t page_tokens) noexcept {
  const std::uint32_t needed = pages_for(std::uint64_t{one.tokens} + rounds - 1, page_tokens);
  return needed > one.pages ? needed - one.pages : 0;
}

std::uint32_t rounds_ahead(std::span<const RoundCandidate> batch, std::uint32_t free_pages,
                           std::uint32_t page_tokens) noexcept {
  const auto fits = [&](std::uint32_t rounds) {
    std::uint64_t wanted = 0;
    for (const RoundCandidate& one : batch) {
      wanted += pages_for_rounds(one, rounds, page_tokens);
    }
    return wanted <= free_pages;
  };
  std::uint32_t most = batch.empty() ? 1 : std::numeric_limits<std::uint32_t>::max();
  for (const RoundCandidate& one : batch) {
    most = std::min(most, one.remaining);
  }
  most = std::max(most, 1U);
  std::uint32_t least = 1;  // fits by the caller's word
  if (fits(most)) {
    return most;
  }
  while (most - least > 1) {
    const std::uint32_t middle = least + (most - least) / 2;
    (fits(middle) ? least : most) = middle;
  }
  return least;
}

}  // namespace baton::policy
