// Attention over paged keys and values, and the writing of them.
//
// Determinism: see ops.h. Positions are cut into ranges of kAttentionRange whatever the pages are; each range is
// reduced on its own and ranges are merged in ascending order, by prefill and by decode alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/compute_pool.h"
#include "kernels/kv_view.h"

namespace baton::kernels {

// Writes k and v rows ([rows, kv_heads * head_dim], strides in floats) into the pages, rounding to the layout's type.
void store_kv(Lane& lane, const KvLayoutView& layout, std::uint32_t layer, std::span<const AttentionSequence> sequences,
              const float* k, std::size_t k_stride, const float* v, std::size_t v_stride);

// out[row][head] = softmax(scale * q[row][head] . K[0..position]) . V[0..position], causal, K and V read from the
// pages (store_kv goes first). heads must be a multiple of kv_heads; query heads [h * heads / kv_heads, ...) share KV
// head h. q and out are [rows, heads, head_dim], rows q_stride and out_stride floats apart.
void attention(Lane& lane, const KvLayoutView& layout, std::uint32_t layer,
               std::span<const AttentionSequence> sequences, const float* q, std::size_t q_stride, std::uint32_t heads,
               float scale, float* out, std::size_t out_stride);

}  // namespace baton::kernels
