// Vec for any machine: four floats, which the compiler maps to SSE2 or NEON. See vector_avx2.h for the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/half.h"

namespace baton::kernels {
namespace {

using Vec = float __attribute__((vector_size(16)));
using IntVec = std::int32_t __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;
constexpr std::size_t kTileCols = 2;  // vectors side by side in a register tile of 4 rows

inline Vec splat(float value) noexcept {
  return Vec{value, value, value, value};
}
inline Vec load(const float* p) noexcept {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vec v) noexcept {
  std::memcpy(p, &v, sizeof v);
}
inline Vec load_f16(const std::uint16_t* p) noexcept {
  return Vec{f16_to_float(p[0]), f16_to_float(p[1]), f16_to_float(p[2]), f16_to_float(p[3])};
}
inline Vec load_bf16(const std::uint16_t* p) noexcept {
  return Vec{bf16_to_float(p[0]), bf16_to_float(p[1]), bf16_to_float(p[2]), bf16_to_float(p[3])};
}
inline void store_f16(std::uint16_t* p, Vec v) noexcept {
  for (std::size_t i = 0; i < kLanes; ++i) {
    p[i] = float_to_f16(v[i]);
  }
}
inline Vec fma(Vec a, Vec b, Vec c) noexcept {
  return a * b + c;
}
inline Vec larger(Vec a, Vec b) noexcept {
  return a > b ? a : b;
}
inline Vec smaller(Vec a, Vec b) noexcept {
  return a < b ? a : b;
}
inline Vec magnitude(Vec a) noexcept {
  return larger(a, -a);
}
inline float sum_lanes(Vec v) noexcept {
  return (v[0] + v[2]) + (v[1] + v[3]);
}
inline float largest_lane(Vec v) noexcept {
  const float a = v[0] > v[1] ? v[0] : v[1];
  const float b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}
inline Vec power_of_two(Vec n) noexcept {  // n integral, -126 to 127
  const IntVec bits = (__builtin_convertvector(n, IntVec) + 127) << 23;
  Vec result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
inline void store_int8(std::int8_t* p, Vec v) noexcept {  // v integral
  for (std::size_t i = 0; i < kLanes; ++i) {
    p[i] = static_cast<std::int8_t>(v[i]);
  }
}
inline void transpose(Vec (&rows)[kLanes]) noexcept {
  Vec columns[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    columns[i] = Vec{rows[0][i], rows[1][i], rows[2][i], rows[3][i]};
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    rows[i] = columns[i];
  }
}

}  // namespace
}  // namespace baton::kernels
