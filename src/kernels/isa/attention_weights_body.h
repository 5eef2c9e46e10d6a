// From scores to softmax weights, block by block. Part of attention_body.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa/attention_block_body.h"
#include "kernels/isa/exp_body.h"
#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

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

// The same for rows [first_row, end_row) of the tile and the `count` positions from `begin` on.
void weigh_rows(const AttentionTile& tile, std::uint32_t begin, std::uint32_t count, std::uint32_t first_row,
                std::uint32_t end_row, TileBuffers& buffers, const AttentionPartial& partial) noexcept {
  for (std::uint32_t row = first_row; row < end_row; ++row) {
    const std::uint32_t own = tile.first_position + row / tile.heads - begin + 1;  // positions of the block it sees
    weigh_row(buffers.scores + row * kAttentionBlock, own < count ? own : count, partial.largest[row], partial.sum[row],
              buffers.factor[row]);
  }
}

}  // namespace
}  // namespace baton::kernels
