// 16-bit floats by plain integer arithmetic: IEEE binary16 ("f16") and bfloat16, both rounding to nearest even.
// Internal linkage on purpose: the header is also included where AVX code generation is on, and an inline function
// with external linkage could then reach machines without AVX.
#pragma once

#include <cstdint>
#include <cstring>

namespace baton::kernels {

[[maybe_unused]] static inline std::uint32_t float_bits(float value) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

[[maybe_unused]] static inline float bits_float(std::uint32_t bits) noexcept {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

[[maybe_unused]] static inline float f16_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {  // zero and denormals: the value is mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return bits_float(sign | float_bits(magnitude));
  }
  const std::uint32_t wide = exponent == 31 ? 0xFFU : exponent + 112;  // 112 = 127 - 15, the biases
  return bits_float(sign | (wide << 23) | (mantissa << 13));
}

[[maybe_unused]] static inline std::uint16_t float_to_f16(float value) noexcept {
  const std::uint32_t bits = float_bits(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U);  // NaN, quiet
  }
  if (magnitude >= 0x477FF000U) {  // 65520 and above round to infinity
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 lets the FPU round at the denormals' last bit, 2^-24
    const std::uint32_t rounded = float_bits(bits_float(magnitude) + 0.5F) - float_bits(0.5F);
    return static_cast<std::uint16_t>(sign | rounded);
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  const std::uint32_t rounded = magnitude - (112U << 23) + 0xFFFU + odd;
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

[[maybe_unused]] static inline float bf16_to_float(std::uint16_t half) noexcept {
  return bits_float(static_cast<std::uint32_t>(half) << 16);
}

[[maybe_unused]] static inline std::uint16_t float_to_bf16(float value) noexcept {
  const std::uint32_t bits = float_bits(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN must not round to infinity
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace baton::kernels
