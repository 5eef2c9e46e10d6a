// Attention of up to four query rows, which is what decode asks for: keys and values go from the pages straight into
// the sums, without the f32 copies that pay only when many rows use them. Part of attention_body.h.
//
// A row's arithmetic is that of score_rows and add_values to the bit: the same chains in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa/attention_block_body.h"
#include "kernels/isa/attention_weights_body.h"
#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

// Scores of a block's positions, kLanes at a time: their keys are transposed in registers, a square of kLanes
// dimensions after the other.
template <std::size_t Rows, KvType Type>
void score_from_pages(const float* q, const BlockRows& block, const BlockRows& next, std::size_t head_dim,
                      std::size_t row_bytes, float* scores) noexcept {
  const std::size_t squares = (head_dim + kLanes - 1) / kLanes;
  for (std::size_t j = 0; j < block.count; j += kLanes) {
    Vec sums[Rows];
    BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      sums[r] = splat(0);
    }
    for (std::size_t s = 0; s < squares; ++s) {
      const std::size_t d = s * kLanes;
      prefetch_keys(next, j + s * kLanes / squares, j + (s + 1) * kLanes / squares, row_bytes);
      Vec square[kLanes];
      load_square<Type>(block.keys + j, d, head_dim, square);
      if (d + kLanes <= head_dim) [[likely]] {
        BATON_UNROLL for (std::size_t i = 0; i < kLanes; ++i) {
          BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
            sums[r] = fma(square[i], splat(q[r * head_dim + d + i]), sums[r]);
          }
        }
      } else {
        for (std::size_t i = 0; d + i < head_dim; ++i) {
          for (std::size_t r = 0; r < Rows; ++r) {
            sums[r] = fma(square[i], splat(q[r * head_dim + d + i]), sums[r]);
          }
        }
      }
    }
    BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      store(scores + r * kAttentionBlock + j, sums[r]);
    }
  }
}

// Adds a block's values times their weights to columns [d, d + Cols * kLanes) of the rows' sums.
template <std::size_t Rows, std::size_t Cols, KvType Type>
void add_from_pages(const float* weights, const BlockRows& block, const BlockRows& next, std::size_t d,
                    std::size_t head_dim, std::size_t row_bytes, const float* factor, float* out) noexcept {
  const std::size_t padded = padded_head_dim(head_dim);
  Vec sums[Rows][Cols];
  BATON_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    BATON_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      sums[r][c] = load(out + r * padded + c * kLanes) * splat(factor[r]);
    }
  }
  for (std::uint32_t j = 0; j < block.count; ++j) {
    const std::byte* row = block.keys[j] + block.values;
    prefetch_values(next, j, row_bytes);
    Vec v[Cols];
    BATON_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      if constexpr (Cols > 1) {
        v[c] = load_stored<Type>(row, d + c * kLanes);
      } else {
        v[c] = d + kLanes <= head_dim ? load_stored<Type>(row, d) : load_stored_tail<Type>(row, d, head_dim);
      }
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

template <std::size_t Rows, KvType Type>
void attend_from_pages(const AttentionTile& tile, const BlockRows& block, const BlockRows& next, std::uint32_t begin,
                       std::uint32_t row, TileBuffers& buffers, const AttentionPartial& partial) noexcept {
  const std::size_t head_dim = tile.layout->head_dim;
  const std::size_t padded = padded_head_dim(head_dim);
  const std::size_t row_bytes = head_dim * (Type == KvType::f16 ? 2U : 4U);
  float* scores = buffers.scores + row * kAttentionBlock;
  score_from_pages<Rows, Type>(buffers.q + row * head_dim, block, next, head_dim, row_bytes, scores);
  weigh_rows(tile, begin, block.count, row, row + Rows, buffers, partial);
  constexpr BlockRows kNothing;
  const float* factor = buffers.factor + row;
  float* out = partial.values + row * padded;
  std::size_t d = 0;
  for (; d + kTileCols * kLanes <= head_dim; d += kTileCols * kLanes) {
    add_from_pages<Rows, kTileCols, Type>(scores, block, d == 0 ? next : kNothing, d, head_dim, row_bytes, factor,
                                          out + d);
  }
  for (; d < padded; d += kLanes) {
    add_from_pages<Rows, 1, Type>(scores, block, d == 0 ? next : kNothing, d, head_dim, row_bytes, factor, out + d);
  }
}

// One block of positions for the tile's last rows, from `row` on; at most four.
template <KvType Type>
void attend_few_rows(const AttentionTile& tile, const BlockRows& block, const BlockRows& next, std::uint32_t begin,
                     std::uint32_t row, TileBuffers& buffers, const AttentionPartial& partial) noexcept {
  switch (tile.tokens * tile.heads - row) {
    case 1:
      return attend_from_pages<1, Type>(tile, block, next, begin, row, buffers, partial);
    case 2:
      return attend_from_pages<2, Type>(tile, block, next, begin, row, buffers, partial);
    case 3:
      return attend_from_pages<3, Type>(tile, block, next, begin, row, buffers, partial);
    default:
      return attend_from_pages<4, Type>(tile, block, next, begin, row, buffers, partial);
  }
}

}  // namespace
}  // namespace baton::kernels
