// A block of 64 positions for attention: finding its keys and values in the pages, asking for them early, and bringing
// them to f32. Part of attention_body.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

struct alignas(64) TileBuffers {
  float q[kTileRowsMax * kHeadDimMax];           // [row][head_dim], times scale
  float keys[kHeadDimMax * kAttentionBlock];     // [head_dim][block]
  float values[kAttentionBlock * kHeadDimMax];   // [block][padded head_dim]
  float scores[kTileRowsMax * kAttentionBlock];  // [row][block]
  float factor[kTileRowsMax];                    // what the block's new maximum makes of earlier sums
};

// Where the keys of a block's positions lie; the values of a position lie `values` bytes further. Positions that do
// not exist point to zeros.
struct BlockRows {
  const std::byte* keys[kAttentionBlock] = {};
  std::ptrdiff_t values = 0;
  std::uint32_t count = 0;
};

alignas(64) constexpr float kZeroRow[kHeadDimMax] = {};

void find_rows(const AttentionTile& tile, std::uint32_t begin, std::uint32_t end, BlockRows& rows) noexcept {
  const KvLayoutView& layout = *tile.layout;
  const std::size_t row_bytes = layout.head_dim * (layout.type == KvType::f16 ? 2U : 4U);
  const std::uint32_t left = end > begin ? end - begin : 0;
  rows.count = left < kAttentionBlock ? left : kAttentionBlock;
  rows.values = static_cast<std::ptrdiff_t>(tile.v_offset) - static_cast<std::ptrdiff_t>(tile.k_offset);
  std::uint32_t page = begin / layout.page_tokens;  // one division a block, not one a position
  std::uint32_t slot = begin % layout.page_tokens;
  for (std::uint32_t j = 0; j < rows.count; ++page, slot = 0) {
    const std::byte* run = tile.sequence->arena + tile.sequence->pages[page] * layout.page_bytes + tile.k_offset;
    for (; slot < layout.page_tokens && j < rows.count; ++slot, ++j) {
      rows.keys[j] = run + slot * row_bytes;
    }
  }
  for (std::uint32_t j = rows.count; j < kAttentionBlock; ++j) {
    rows.keys[j] = reinterpret_cast<const std::byte*>(kZeroRow);
  }
}

// Ask for some of a block's keys or values. A page holds a layer's rows of one head in runs of a few KB, too short for
// the prefetchers to get going by themselves. A block asks for the next one's rows while it works on its own, some with
// each piece of work: all at once they would fill the miss buffers and stop the loads of the block at hand. Inlined by
// order: g++ takes a function that only prefetches for one without effect and drops the calls. Into the second-level
// cache: the first is full of the block at hand.
[[gnu::always_inline]] inline void prefetch_keys(const BlockRows& rows, std::size_t begin, std::size_t end,
                                                 std::size_t row_bytes) noexcept {
  for (std::size_t j = begin; j < end && j < rows.count; ++j) {
    for (std::size_t line = 0; line < row_bytes; line += 64) {
      __builtin_prefetch(rows.keys[j] + line, 0, 2);
    }
  }
}
[[gnu::always_inline]] inline void prefetch_values(const BlockRows& rows, std::size_t j,
                                                   std::size_t row_bytes) noexcept {
  for (std::size_t line = 0; j < rows.count && line < row_bytes; line += 64) {
    __builtin_prefetch(rows.keys[j] + rows.values + line, 0, 2);
  }
}

template <KvType Type>
inline Vec load_stored(const std::byte* row, std::size_t d) noexcept {
  if constexpr (Type == KvType::f16) {
    return load_f16(reinterpret_cast<const std::uint16_t*>(row) + d);
  } else {
    return load(reinterpret_cast<const float*>(row) + d);
  }
}

// The same where fewer than kLanes values are left; the others are zero.
template <KvType Type>
Vec load_stored_tail(const std::byte* row, std::size_t d, std::size_t head_dim) noexcept {
  using Stored = std::conditional_t<Type == KvType::f16, std::uint16_t, float>;
  Stored values[kLanes] = {};
  for (std::size_t i = 0; d + i < head_dim; ++i) {
    values[i] = reinterpret_cast<const Stored*>(row)[d + i];
  }
  return load_stored<Type>(reinterpret_cast<const std::byte*>(values), 0);
}

// The keys of kLanes positions in kLanes dimensions, transposed: square[i] has dimension d + i of each position. What
// lies past head_dim is zero.
template <KvType Type>
inline void load_square(const std::byte* const* rows, std::size_t d, std::size_t head_dim,
                        Vec (&square)[kLanes]) noexcept {
  if (d + kLanes <= head_dim) [[likely]] {
    BATON_UNROLL for (std::size_t i = 0; i < kLanes; ++i) {
      square[i] = load_stored<Type>(rows[i], d);
    }
  } else {
    for (std::size_t i = 0; i < kLanes; ++i) {
      square[i] = load_stored_tail<Type>(rows[i], d, head_dim);
    }
  }
  transpose(square);
}

// Brings the keys and values of a block to f32; keys of positions that do not exist become zero. Asks for `next`.
template <KvType Type>
void load_block(const BlockRows& rows, const BlockRows& next, std::size_t head_dim, TileBuffers& buffers) noexcept {
  const std::size_t padded = padded_head_dim(head_dim);
  const std::size_t row_bytes = head_dim * (Type == KvType::f16 ? 2U : 4U);
  for (std::size_t j = 0; j < rows.count; j += kLanes) {
    prefetch_keys(next, j, j + kLanes, row_bytes);
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      Vec square[kLanes];
      load_square<Type>(rows.keys + j, d, head_dim, square);
      BATON_UNROLL for (std::size_t i = 0; i < kLanes; ++i) {
        store(buffers.keys + (d + i) * kAttentionBlock + j, square[i]);
      }
    }
  }
  for (std::size_t j = 0; j < rows.count; ++j) {
    prefetch_values(next, j, row_bytes);
    const std::byte* row = rows.keys[j] + rows.values;
    float* values = buffers.values + j * padded;
    std::size_t d = 0;
    for (; d + kLanes <= head_dim; d += kLanes) {
      store(values + d, load_stored<Type>(row, d));
    }
    for (; d < padded; d += kLanes) {
      store(values + d, load_stored_tail<Type>(row, d, head_dim));
    }
  }
}

}  // namespace
}  // namespace baton::kernels
