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
  const std::byte* keys[kAttentionBlock];
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

// Asks for a block's keys and values. A page holds a layer's rows of one head in runs of a few KB, too short for the
// prefetchers to get going by themselves. Inlined by order: g++ takes a function that only prefetches for one without
// effect and drops the calls. Into the second-level cache: the first is full of the block at hand.
[[gnu::always_inline]] inline void prefetch_rows(const BlockRows& rows, std::size_t row_bytes) noexcept {
  for (std::uint32_t j = 0; j < rows.count; ++j) {
    for (std::size_t line = 0; line < row_bytes; line += 64) {
      __builtin_prefetch(rows.keys[j] + line, 0, 2);
      __builtin_prefetch(rows.keys[j] + rows.values + line, 0, 2);
    }
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

// Transposes kLanes positions by kLanes dimensions into the block's keys.
template <KvType Type>
inline void load_keys(const std::byte* const* rows, std::size_t d, std::size_t head_dim, float* keys) noexcept {
  Vec square[kLanes];
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
  BATON_UNROLL for (std::size_t i = 0; i < kLanes; ++i) {
    store(keys + i * kAttentionBlock, square[i]);
  }
}

// Brings the keys and values of a block to f32; keys of positions that do not exist become zero.
template <KvType Type>
void load_block(const BlockRows& rows, std::size_t head_dim, TileBuffers& buffers) noexcept {
  const std::size_t padded = padded_head_dim(head_dim);
  for (std::uint32_t j = 0; j < rows.count; j += kLanes) {
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      load_keys<Type>(rows.keys + j, d, head_dim, buffers.keys + d * kAttentionBlock + j);
    }
  }
  for (std::uint32_t j = 0; j < rows.count; ++j) {
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
