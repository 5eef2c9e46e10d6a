// What one forward step of one rank computes, as sums over its sequences.
//
// Costs need sums only, so a decode step is priced in O(1) whatever the batch, and a batch that merely grows by one
// token per sequence is brought up to date in O(1) as well (grow_decode). Exact integers; the pair count is a double
// that stays an exact integer below 2^53.
#pragma once

#include <algorithm>
#include <cstdint>

namespace baton::sim {

struct StepLoad {
  std::uint32_t prefill_sequences = 0;
  std::uint64_t prefill_tokens = 0;   // new tokens of all chunks
  double prefill_pairs = 0;           // causal query-key pairs: sum of n*c + n*(n+1)/2 for n new on c cached tokens
  std::uint64_t prefill_context = 0;  // tokens that were cached before the chunks

  std::uint32_t decode_sequences = 0;
  std::uint64_t decode_context = 0;      // sum of context lengths, the new tokens included
  std::uint32_t decode_tokens = 0;       // rows of decode: more than its sequences when drafts are verified
  std::uint32_t decode_context_min = 0;  // the shortest and the longest of them
  std::uint32_t decode_context_max = 0;

  std::uint32_t sampled = 0;  // positions that need logits

  // A chunk of `tokens` after `context` cached ones. `sample`: its last position needs logits, because the chunk ends
  // its prompt.
  void add_prefill(std::uint32_t tokens, std::uint64_t context, bool sample) noexcept {
    const auto n = static_cast<double>(tokens);
    prefill_sequences += 1;
    prefill_tokens += tokens;
    prefill_pairs += n * static_cast<double>(context) + n * (n + 1) / 2;
    prefill_context += context;
    sampled += sample ? 1 : 0;
  }

  // One running sequence whose context is `context` long with its new tokens in it; `tokens` rows, each of which needs
  // logits (1, or 1 + the drafts to verify).
  void add_decode(std::uint32_t context, std::uint32_t tokens = 1) noexcept {
    decode_context_min = decode_sequences == 0 ? context : std::min(decode_context_min, context);
    decode_sequences += 1;
    decode_context += context;
    decode_tokens += tokens;
    decode_context_max = std::max(decode_context_max, context);
    sampled += tokens;
  }

  // The next round of the same decode batch: every sequence one token longer.
  void grow_decode() noexcept {
    decode_context += decode_sequences;
    decode_context_min += decode_sequences == 0 ? 0 : 1;
    decode_context_max += decode_sequences == 0 ? 0 : 1;
  }

  std::uint64_t tokens() const noexcept { return prefill_tokens + decode_tokens; }
  bool empty() const noexcept { return tokens() == 0; }

  bool operator==(const StepLoad&) const = default;
};

}  // namespace baton::sim
