// Attention over Vec; included by attention_<isa>.cc
//
// A block of 64 positions is brought to f32 once: keys transposed, [head_dim][64], so that scores of neighbouring
// positions lie side by side, values as they are. All query rows of the tile then use it, four at a time. Up to four
// rows, as in decode, take keys and values from the pages instead. In both ways a score is one chain over ascending
// head_dim, a value one chain over ascending positions, so results do not depend on the tile.
#pragma once

#include "kernels/isa/attention_block_body.h"
#include "kernels/isa/attention_few_rows_body.h"
#include "kernels/isa/attention_weights_body.h"
#include "kernels/isa/exp_body.h"
#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

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

// Adds `count` positions to some columns of the rows' sums. A row that sees fewer has weights of zero for the others,
// whose values are stored and finite: adding them changes nothing.
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

// One block of positions for the tile's rows from first_row on.
template <KvType Type>
void attend_block(const AttentionTile& tile, const BlockRows& block, const BlockRows& next, std::uint32_t begin,
                  std::uint32_t first_row, TileBuffers& buffers, const AttentionPartial& partial) noexcept {
  const std::size_t head_dim = tile.layout->head_dim;
  const std::size_t padded = padded_head_dim(head_dim);
  const std::uint32_t rows = tile.tokens * tile.heads;
  const std::uint32_t count = block.count;
  if (rows - first_row <= 4) {
    return attend_few_rows<Type>(tile, block, next, begin, first_row, buffers, partial);
  }
  load_block<Type>(block, next, head_dim, buffers);
  for (std::uint32_t row = first_row; row < rows; row += 4) {
    score_group(rows - row, buffers, head_dim, row, buffers.scores + row * kAttentionBlock);
  }
  weigh_rows(tile, begin, count, first_row, rows, buffers, partial);
  for (std::uint32_t row = first_row; row < rows; row += 4) {
    add_group(rows - row, buffers, row, padded, count, partial.values + row * padded);
  }
}

void attend_range(const AttentionWork& work, const AttentionWork& next, const AttentionPartial& partial) {
  const AttentionTile& tile = *work.tile;
  const std::uint32_t begin = work.begin;
  const std::uint32_t end = work.end;
  const std::size_t head_dim = tile.layout->head_dim;
  TileBuffers buffers;
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
  BlockRows blocks[2];
  find_rows(tile, begin, end, blocks[0]);
  for (std::uint32_t i = 0, block = begin; block < end; ++i, block += kAttentionBlock) {
    const BlockRows& rows_here = blocks[i % 2];
    BlockRows& rows_next = blocks[(i + 1) % 2];
    if (block + kAttentionBlock < end || next.tile == nullptr) {
      find_rows(tile, block + kAttentionBlock, end, rows_next);
    } else {
      find_rows(*next.tile, next.begin, next.end, rows_next);
    }
    if (tile.layout->type == KvType::f16) {
      attend_block<KvType::f16>(tile, rows_here, rows_next, block, first_row_of(block), buffers, partial);
    } else {
      attend_block<KvType::f32>(tile, rows_here, rows_next, block, first_row_of(block), buffers, partial);
    }
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
