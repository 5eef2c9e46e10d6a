// Attention over Vec; included by attention_<isa>.cc
//
// A block of 64 positions is brought to f32 once: keys transposed, [head_dim][64], so that scores of neighbouring
// positions lie side by side, values as they are. All query rows of the tile then use it, four at a time. A decode
// row goes through the same code as a row of a prefill tile: a score is one chain over ascending head_dim, a value one
// chain over ascending positions, so results do not depend on the tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/isa/exp_body.h"
#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

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

template <std::size_t Rows>
void score_rows(const float* q, const float* keys, std::size_t head_dim, float* scores) noexcept {
  for (std::size_t j = 0; j < kAttentionBlock; j += kTileCols * kLanes) {
    Vec sums[Rows][kTileCols];
    BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      BATON_UNROLL for (std::size_t c = 0; c < kTileCols; ++c) {
        sums[r][c] = splat(0);
      }
    }
    for (std::size_t d = 0; d < head_dim; ++d) {
      Vec k[kTileCols];
      BATON_UNROLL for (std::size_t c = 0; c < kTileCols; ++c) {
        k[c] = load(keys + d * kAttentionBlock + j + c * kLanes);
      }
      BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
        const Vec query = splat(q[r * head_dim + d]);
        BATON_UNROLL for (std::size_t c = 0; c < kTileCols; ++c) {
          sums[r][c] = fma(k[c], query, sums[r][c]);
        }
      }
    }
    BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      BATON_UNROLL for (std::size_t c = 0; c < kTileCols; ++c) {
        store(scores + r * kAttentionBlock + j + c * kLanes, sums[r][c]);
      }
    }
  }
}

// Turns a row's scores into weights relative to the new maximum; only the first `count` positions exist for the row.
void weigh_row(float* scores, std::uint32_t count, float& largest, float& sum, float& factor) noexcept {
  for (std::size_t j = count; j < kAttentionBlock; ++j) {
    scores[j] = kMinusInfinity;
  }
  Vec top = load(scores);
  for (std::size_t j = kLanes; j < kAttentionBlock; j += kLanes) {
    top = larger(top, load(scores + j));
  }
  const float block_largest = largest_lane(top);
  const float new_largest = block_largest > largest ? block_largest : largest;
  float lanes[kLanes];
  store(lanes, exp_lanes(splat(largest - new_largest)));
  factor = lanes[0];
  for (std::size_t j = 0; j < kAttentionBlock; j += kLanes) {
    store(scores + j, exp_lanes(load(scores + j) - splat(new_largest)));
  }
  for (std::size_t j = count; j < kAttentionBlock; ++j) {
    scores[j] = 0;  // exp_lanes has no exact zero
  }
  Vec total = load(scores);
  for (std::size_t j = kLanes; j < kAttentionBlock; j += kLanes) {
    total = total + load(scores + j);
  }
  sum = sum * factor + sum_lanes(total);
  largest = new_largest;
}

template <std::size_t Rows, std::size_t Cols>
void add_values(const float* weights, const float* values, std::size_t padded, std::uint32_t count, const float* factor,
                float* out) noexcept {
  Vec sums[Rows][Cols];
  BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    BATON_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      sums[r][c] = load(out + r * padded + c * kLanes) * splat(factor[r]);
    }
  }
  for (std::uint32_t j = 0; j < count; ++j) {
    Vec v[Cols];
    BATON_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      v[c] = load(values + j * padded + c * kLanes);
    }
    BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      const Vec weight = splat(weights[r * kAttentionBlock + j]);
      BATON_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
        sums[r][c] = fma(v[c], weight, sums[r][c]);
      }
    }
  }
  BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    BATON_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      store(out + r * padded + c * kLanes, sums[r][c]);
    }
  }
}

template <std::size_t Rows>
void add_rows(const TileBuffers& buffers, std::size_t row, std::size_t padded, std::uint32_t count,
              float* out) noexcept {
  const float* weights = buffers.scores + row * kAttentionBlock;
  std::size_t d = 0;
  for (; d + kTileCols * kLanes <= padded; d += kTileCols * kLanes) {
    add_values<Rows, kTileCols>(weights, buffers.values + d, padded, count, buffers.factor + row, out + d);
  }
  for (; d < padded; d += kLanes) {
    add_values<Rows, 1>(weights, buffers.values + d, padded, count, buffers.factor + row, out + d);
  }
}

// Up to four rows, which share every load of keys or values.
void score_group(std::uint32_t count, const TileBuffers& buffers, std::size_t head_dim, std::uint32_t row,
                 float* scores) noexcept {
  const float* q = buffers.q + row * head_dim;
  switch (count) {
    case 1:
      return score_rows<1>(q, buffers.keys, head_dim, scores);
    case 2:
      return score_rows<2>(q, buffers.keys, head_dim, scores);
    case 3:
      return score_rows<3>(q, buffers.keys, head_dim, scores);
    default:
      return score_rows<4>(q, buffers.keys, head_dim, scores);
  }
}

void add_group(std::uint32_t rows, const TileBuffers& buffers, std::uint32_t row, std::size_t padded,
               std::uint32_t count, float* out) noexcept {
  switch (rows) {
    case 1:
      return add_rows<1>(buffers, row, padded, count, out);
    case 2:
      return add_rows<2>(buffers, row, padded, count, out);
    case 3:
      return add_rows<3>(buffers, row, padded, count, out);
    default:
      return add_rows<4>(buffers, row, padded, count, out);
  }
}

// One block of positions for rows [first_row, rows) of the tile.
void attend_block(const AttentionTile& tile, std::uint32_t begin, std::uint32_t count, std::uint32_t first_row,
                  TileBuffers& buffers, const AttentionPartial& partial) noexcept {
  const std::size_t head_dim = tile.layout->head_dim;
  const std::size_t padded = padded_head_dim(head_dim);
  const std::uint32_t rows = tile.tokens * tile.heads;
  for (std::uint32_t row = first_row; row < rows; row += 4) {
    score_group(rows - row, buffers, head_dim, row, buffers.scores + row * kAttentionBlock);
  }
  for (std::uint32_t row = first_row; row < rows; ++row) {
    const std::uint32_t own = tile.first_position + row / tile.heads - begin + 1;  // positions of the block it sees
    weigh_row(buffers.scores + row * kAttentionBlock, own < count ? own : count, partial.largest[row], partial.sum[row],
              buffers.factor[row]);
  }
  for (std::uint32_t row = first_row; row < rows; row += 4) {
    add_group(rows - row, buffers, row, padded, count, partial.values + row * padded);
  }
}

void attend_range(const AttentionTile& tile, std::uint32_t begin, std::uint32_t end, const AttentionPartial& partial) {
  const std::size_t head_dim = tile.layout->head_dim;
  const std::size_t row_bytes = head_dim * (tile.layout->type == KvType::f16 ? 2U : 4U);
  TileBuffers buffers;
  BlockRows block_rows;
  find_rows(tile, begin, end, block_rows);
  prefetch_rows(block_rows, row_bytes);
  const std::size_t padded = padded_head_dim(head_dim);
  const std::uint32_t rows = tile.tokens * tile.heads;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const float* q = tile.q + row / tile.heads * tile.q_stride + row % tile.heads * head_dim;
    for (std::size_t d = 0; d < head_dim; ++d) {
      buffers.q[row * head_dim + d] = q[d] * tile.scale;
    }
  }
  const auto first_row_of = [&](std::uint32_t position) noexcept {
    return position > tile.first_position ? (position - tile.first_position) * tile.heads : 0;
  };
  for (std::uint32_t row = first_row_of(begin); row < rows; ++row) {
    partial.largest[row] = kMinusInfinity;
    partial.sum[row] = 0;
    for (std::size_t d = 0; d < padded; ++d) {
      partial.values[row * padded + d] = 0;
    }
  }
  for (std::uint32_t block = begin; block < end; block += kAttentionBlock) {
    if (tile.layout->type == KvType::f16) {
      load_block<KvType::f16>(block_rows, head_dim, buffers);
    } else {
      load_block<KvType::f32>(block_rows, head_dim, buffers);
    }
    const std::uint32_t count = block_rows.count;
    find_rows(tile, block + kAttentionBlock, end, block_rows);
    prefetch_rows(block_rows, row_bytes);
    attend_block(tile, block, count, first_row_of(block), buffers, partial);
  }
}

void merge_partials(const AttentionPartial& total, const AttentionPartial& other, std::size_t padded) {
  const float largest = *total.largest > *other.largest ? *total.largest : *other.largest;
  float mine[kLanes];
  float theirs[kLanes];
  store(mine, exp_lanes(splat(*total.largest - largest)));
  store(theirs, exp_lanes(splat(*other.largest - largest)));
  for (std::size_t d = 0; d < padded; d += kLanes) {
    store(total.values + d, fma(load(total.values + d), splat(mine[0]), load(other.values + d) * splat(theirs[0])));
  }
  *total.sum = *total.sum * mine[0] + *other.sum * theirs[0];
  *total.largest = largest;
}

void finish_row(const AttentionPartial& total, std::size_t head_dim, float* out) {
  const float inverse = 1.0F / *total.sum;
  for (std::size_t d = 0; d < head_dim; ++d) {
    out[d] = total.values[d] * inverse;
  }
}

constexpr AttentionKernels kAttentionKernels = {attend_range, merge_partials, finish_row};

}  // namespace
}  // namespace baton::kernels
