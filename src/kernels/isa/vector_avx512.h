// Vec of sixteen floats. See vector_avx2.h for the rules.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include "kernels/isa/unroll.h"

namespace baton::kernels {
namespace {

using Vec = __m512;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kTileCols = 4;  // vectors side by side in a register tile of 4 rows: 16 sums of 32 registers

inline Vec splat(float value) noexcept {
  return _mm512_set1_ps(value);
}
inline Vec load(const float* p) noexcept {
  return _mm512_loadu_ps(p);
}
inline void store(float* p, Vec v) noexcept {
  _mm512_storeu_ps(p, v);
}
inline Vec load_f16(const std::uint16_t* p) noexcept {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vec load_bf16(const std::uint16_t* p) noexcept {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline void store_f16(std::uint16_t* p, Vec v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline Vec fma(Vec a, Vec b, Vec c) noexcept {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vec larger(Vec a, Vec b) noexcept {
  return _mm512_max_ps(a, b);
}
inline Vec smaller(Vec a, Vec b) noexcept {
  return _mm512_min_ps(a, b);
}
inline Vec magnitude(Vec a) noexcept {
  return _mm512_abs_ps(a);
}
inline float sum_lanes(Vec v) noexcept {
  return _mm512_reduce_add_ps(v);
}
inline float largest_lane(Vec v) noexcept {
  return _mm512_reduce_max_ps(v);
}
inline Vec power_of_two(Vec n) noexcept {  // n integral, -126 to 127
  const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
}
inline void store_int8(std::int8_t* p, Vec v) noexcept {  // v integral
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(v)));
}
// Rows become columns. Pairs and quads change places within quarters of the registers, then the quarters do.
inline void transpose(Vec (&rows)[kLanes]) noexcept {
  Vec pairs[kLanes];
  Vec quads[kLanes];
  BATON_UNROLL for (std::size_t i = 0; i < kLanes; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  BATON_UNROLL for (std::size_t i = 0; i < kLanes; i += 4) {  // quads[i + c]: column c of each quarter, rows i to i + 3
    quads[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    quads[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    quads[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    quads[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
  BATON_UNROLL for (std::size_t c = 0; c < 4; ++c) {
    const Vec even_low = _mm512_shuffle_f32x4(quads[c], quads[c + 4], 0x88);  // quarters 0, 2 of rows 0..3 and 4..7
    const Vec odd_low = _mm512_shuffle_f32x4(quads[c], quads[c + 4], 0xDD);
    const Vec even_high = _mm512_shuffle_f32x4(quads[c + 8], quads[c + 12], 0x88);
    const Vec odd_high = _mm512_shuffle_f32x4(quads[c + 8], quads[c + 12], 0xDD);
    rows[c] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    rows[c + 8] = _mm512_shuffle_f32x4(even_low, even_high, 0xDD);
    rows[c + 4] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    rows[c + 12] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xDD);
  }
}

}  // namespace
}  // namespace baton::kernels
