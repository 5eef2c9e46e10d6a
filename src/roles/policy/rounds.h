// How many steps in a row a batch of running sequences can take without anything to decide in between. A pure function.
#pragma once

#include <cstdint>
#include <span>

namespace baton::policy {

struct RoundCandidate {
  std::uint32_t tokens = 0;     // prompt and output so far; the last one has no keys and values yet
  std::uint32_t remaining = 0;  // output tokens until its limit, at least one
  std::uint32_t pages = 0;      // held now, enough for the next step
};

// Pages a sequence of `tokens` lacks to take that many rounds.
std::uint32_t pages_for_rounds(const RoundCandidate& one, std::uint32_t rounds, std::uint32_t page_tokens) noexcept;

// The most rounds after which nobody has passed its limit and for which the free pages suffice; at least one.
std::uint32_t rounds_ahead(std::span<const RoundCandidate> batch, std::uint32_t free_pages,
                           std::uint32_t page_tokens) noexcept;

}  // namespace baton::policy
