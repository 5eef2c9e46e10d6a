// The transformer as a sequence of kernel calls: one forward pass over the rows of a step, on one lane of the pool.
//
//   tokens -> embedding -> layers x { norm, q+k+v, rope, store K and V, attention, o, norm, gate+up, down } -> rows
//   rows that are wanted -> final norm -> head -> logits
//
// No coroutines and no threads of its own here: CpuEngine submits it, tests call it directly. A row's logits do not
// depend, to the bit, on the other rows, the cut into steps, the page size or the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "kernels/compute_pool.h"
#include "model/engine/profile.h"
#include "model/engine/weights.h"
#include "model/kv/kv_layout.h"
#include "runtime/ids.h"

namespace baton {

// Tokens at positions [position, position + tokens.size()), the earlier ones being in the pages already.
struct ForwardSequence {
  std::span<const TokenId> tokens;  // at least one, each below vocab
  std::uint32_t position = 0;
  std::byte* arena = nullptr;
  const PageId* pages = nullptr;  // covers position + tokens.size()
  bool wants_logits = false;      // of the last token
};

// Receives logits (count, vocab), row i being that of the (first + i)-th sequence that wants them, in batch order. The
// rows end with the call.
using LogitsSink = std::function<void(std::size_t first, std::size_t count, const float* logits)>;

// Rows of logits handed to the sink at a time: bounds the memory a large decode batch takes for them.
inline constexpr std::size_t kLogitsRowsMax = 64;

// Writes the keys and values of all rows into their pages and hands out the wanted logits. The sequences must not share
// pages that are written. `profile` may be null.
void forward(kernels::Lane& lane, const Weights& weights, const KvLayout& layout,
             std::span<const ForwardSequence> sequences, const LogitsSink& sink, Profile* profile = nullptr);

// Scratch a forward pass over `rows` rows takes, `wanted` of them with logits, without what kernels take inside.
std::size_t forward_scratch_bytes(const ModelShape& shape, std::size_t rows, std::size_t wanted) noexcept;

}  // namespace baton
