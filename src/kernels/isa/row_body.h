// Element-wise and per-row kernels over Vec; included by row_<isa>.cc
#pragma once

#include "kernels/isa/exp_body.h"
#include "kernels/isa/vector.h"
#include "kernels/kernel_table.h"

namespace baton::kernels {
namespace {

// A tail goes through a full vector in a buffer: the same instructions as for the rest, hence the same values.
struct Tail {
  float lanes[kLanes];
};

inline Vec load_tail(const float* p, std::size_t count) noexcept {
  Tail tail = {};
  for (std::size_t i = 0; i < count; ++i) {
    tail.lanes[i] = p[i];
  }
  return load(tail.lanes);
}

inline void store_tail(float* p, std::size_t count, Vec v) noexcept {
  Tail tail;
  store(tail.lanes, v);
  for (std::size_t i = 0; i < count; ++i) {
    p[i] = tail.lanes[i];
  }
}

void rms_norm_row(const float* x, const float* weight, float eps, std::size_t dim, float* out) {
  Vec sum0 = splat(0);
  Vec sum1 = splat(0);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= dim; i += 2 * kLanes) {
    const Vec a = load(x + i);
    const Vec b = load(x + i + kLanes);
    sum0 = fma(a, a, sum0);
    sum1 = fma(b, b, sum1);
  }
  for (; i < dim; i += kLanes) {
    const Vec a = load_tail(x + i, dim - i < kLanes ? dim - i : kLanes);
    sum0 = fma(a, a, sum0);
  }
  const float mean = sum_lanes(sum0 + sum1) / static_cast<float>(dim);
  const Vec factor = splat(1.0F / __builtin_sqrtf(mean + eps));
  for (i = 0; i + kLanes <= dim; i += kLanes) {
    store(out + i, load(x + i) * factor * load(weight + i));
  }
  if (i < dim) {
    store_tail(out + i, dim - i, load_tail(x + i, dim - i) * factor * load_tail(weight + i, dim - i));
  }
}

void rope_head(float* x, std::size_t half_dim, const float* cosines, const float* sines) {
  float* y = x + half_dim;
  std::size_t i = 0;
  for (; i + kLanes <= half_dim; i += kLanes) {
    const Vec a = load(x + i);
    const Vec b = load(y + i);
    const Vec c = load(cosines + i);
    const Vec s = load(sines + i);
    store(x + i, fma(a, c, -(b * s)));
    store(y + i, fma(b, c, a * s));
  }
  if (i < half_dim) {
    const std::size_t rest = half_dim - i;
    const Vec a = load_tail(x + i, rest);
    const Vec b = load_tail(y + i, rest);
    const Vec c = load_tail(cosines + i, rest);
    const Vec s = load_tail(sines + i, rest);
    store_tail(x + i, rest, fma(a, c, -(b * s)));
    store_tail(y + i, rest, fma(b, c, a * s));
  }
}

inline Vec silu_times(Vec gate, Vec up) noexcept {
  return gate / (splat(1.0F) + exp_lanes(-gate)) * up;
}

void silu_mul_run(const float* gate, const float* up, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store(out + i, silu_times(load(gate + i), load(up + i)));
  }
  if (i < count) {
    store_tail(out + i, count - i, silu_times(load_tail(gate + i, count - i), load_tail(up + i, count - i)));
  }
}

void add_run(const float* x, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store(out + i, load(out + i) + load(x + i));
  }
  for (; i < count; ++i) {
    out[i] += x[i];
  }
}

void to_f16_run(const float* x, std::size_t count, std::uint16_t* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store_f16(out + i, load(x + i));
  }
  if (i < count) {
    std::uint16_t halves[kLanes];
    store_f16(halves, load_tail(x + i, count - i));
    for (std::size_t j = 0; i + j < count; ++j) {
      out[i + j] = halves[j];
    }
  }
}

void quantise_row(const float* x, std::size_t cols, Q8Block4* blocks, std::size_t token) {
  constexpr std::size_t kVecs = kBlockCols / kLanes;
  constexpr float kRound = 12582912.0F;  // as in exp_body.h: rounds to nearest even
  for (std::size_t block = 0; block < cols / kBlockCols; ++block, x += kBlockCols) {
    Vec values[kVecs];
    Vec largest = splat(0);
    for (std::size_t i = 0; i < kVecs; ++i) {
      values[i] = load(x + i * kLanes);
      largest = larger(largest, magnitude(values[i]));
    }
    const float range = largest_lane(largest);
    const float scale = range / 127.0F;
    // A range so small that its inverse overflows counts as zero; the values are below 1e-36 then.
    const Vec inverse = splat(range > 1e-36F ? 127.0F / range : 0.0F);
    Vec total = splat(0);
    Q8Block4& target = blocks[block];
    for (std::size_t i = 0; i < kVecs; ++i) {
      const Vec rounded = fma(values[i], inverse, splat(kRound)) - splat(kRound);
      total = total + rounded;  // integers of at most 127: exact in any order
      store_int8(target.q[token] + i * kLanes, rounded);
    }
    const float sum = sum_lanes(total);
    target.scale[token] = scale;
    target.scaled_sum[token] = scale * sum;
    target.sum[token] = static_cast<std::int32_t>(sum);
  }
}

constexpr RowKernels kRowKernels = {rms_norm_row, rope_head, silu_mul_run, add_run, to_f16_run, quantise_row};

}  // namespace
}  // namespace baton::kernels
