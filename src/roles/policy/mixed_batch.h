// Which rows the next step of a decode (or aggregated) rank computes. A pure function of the running sequences.
//
// Every sequence that needs one row (a decode step) comes first, so that no prompt delays a token; what is left of the
// budget goes to longer ones (prompts of an aggregated rank), in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace baton::policy {

struct MixedLimits {
  std::uint32_t step_tokens = 256;  // rows of one step; more single rows than this are all taken nevertheless
};

// remaining[i]: tokens of the i-th sequence that have no keys and values yet; zero: it sits this step out. Returns how
// many rows each gets, zero for none.
std::vector<std::uint32_t> plan_mixed(std::span<const std::uint32_t> remaining, const MixedLimits& limits);

}  // namespace baton::policy
