// Which prompts, and how much of each, the next prefill step computes. A pure function of the waiting queue.
//
// First come, first served under a token budget: a prompt that was begun is finished before a later one starts, and
// what is left of the budget goes to the next ones, so that short prompts fill the step a long one leaves room in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace baton::policy {

struct PrefillLimits {
  std::uint32_t step_tokens = 256;    // rows of one step; the longest a decode step can be kept waiting
  std::uint32_t step_sequences = 64;  // sequences of one step
};

// One chunk of the plan: `tokens` more of the candidate at `index`.
struct PrefillChunk {
  std::size_t index = 0;
  std::uint32_t tokens = 0;
  friend bool operator==(const PrefillChunk&, const PrefillChunk&) = default;
};

// remaining[i]: tokens the i-th prompt in queue order has left, at least one. Chunks come in queue order, each of at
// least one token; together they never exceed the budget. The plan is empty only if nothing waits.
std::vector<PrefillChunk> plan_prefill(std::span<const std::uint32_t> remaining, const PrefillLimits& limits);

}  // namespace baton::policy
