// Writing of finished sums: bias, accumulation and the padding rows of the last panel, which have no place in `out`.
#pragma once

#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

inline void put_one(const MatmulArgs& args, std::size_t token, std::size_t row, float sum) noexcept {
  float* out = args.out + token * args.out_stride + row;
  const float value = args.bias == nullptr ? sum : sum + args.bias[row];
  *out = args.accumulate ? *out + value : value;
}

// Sums of rows [row, row + kLanes) for one token.
inline void put(const MatmulArgs& args, std::size_t token, std::size_t row, Vec sums) noexcept {
  if (row + kLanes <= args.w.rows) {
    float* out = args.out + token * args.out_stride + row;
    const Vec value = args.bias == nullptr ? sums : sums + load(args.bias + row);
    store(out, args.accumulate ? load(out) + value : value);
    return;
  }
  float lanes[kLanes];
  store(lanes, sums);
  for (std::size_t i = 0; row + i < args.w.rows; ++i) {
    put_one(args, token, row + i, lanes[i]);
  }
}

}  // namespace
}  // namespace baton::kernels
