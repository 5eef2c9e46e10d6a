// Vec: the floats one instruction works on, so that the kernels in *_body.h are written once and compiled for each
// instruction set. Everything here and in the bodies has internal linkage: two translation units with different
// flags must never share a function, or the linker may keep the one that this machine cannot run. For the same reason
// the bodies use nothing from the standard library that is not a plain type.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include "kernels/isa/unroll.h"

namespace baton::kernels {
namespace {

using Vec = __m256;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kTileCols = 2;  // vectors side by side in a register tile of 4 rows: 8 sums of 16 registers

inline Vec splat(float value) noexcept {
  return _mm256_set1_ps(value);
}
inline Vec load(const float* p) noexcept {
  return _mm256_loadu_ps(p);
}
inline void store(float* p, Vec v) noexcept {
  _mm256_storeu_ps(p, v);
}
inline Vec load_f16(const std::uint16_t* p) noexcept {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Vec load_bf16(const std::uint16_t* p) noexcept {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline void store_f16(std::uint16_t* p, Vec v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline Vec fma(Vec a, Vec b, Vec c) noexcept {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vec larger(Vec a, Vec b) noexcept {
  return _mm256_max_ps(a, b);
}
inline Vec smaller(Vec a, Vec b) noexcept {
  return _mm256_min_ps(a, b);
}
inline Vec magnitude(Vec a) noexcept {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
}
inline float sum_lanes(Vec v) noexcept {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
inline float largest_lane(Vec v) noexcept {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
inline Vec power_of_two(Vec n) noexcept {  // n integral, -126 to 127
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
inline void store_int8(std::int8_t* p, Vec v) noexcept {  // v integral
  const __m256i wide = _mm256_cvtps_epi32(v);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}
// Rows become columns. Pairs, then quads, then halves of the registers change places.
inline void transpose(Vec (&rows)[kLanes]) noexcept {
  Vec pairs[kLanes];
  Vec quads[kLanes];
  BATON_UNROLL for (std::size_t i = 0; i < kLanes; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  BATON_UNROLL for (std::size_t i = 0; i < kLanes; i += 4) {
    quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
  BATON_UNROLL for (std::size_t i = 0; i < 4; ++i) {
    rows[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
    rows[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
  }
}

}  // namespace
}  // namespace baton::kernels
