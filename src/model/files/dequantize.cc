#include "model/files/dequantize.h"

#include <bit>
#include <cstring>

#include "runtime/check.h"

// The layouts below are those of ggml's block structures (ggml-org/ggml, src/ggml-common.h), which the GGUF format
// stores as they are. All numbers are little-endian; so is every machine that baton runs on.
static_assert(std::endian::native == std::endian::little);

namespace baton {
namespace {

using Byte = unsigned char;

constexpr std::size_t kBlock = 32;  // values of a Q4_0 ... Q8_0 block

template <class Value>
Value load(const Byte* from) noexcept {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float load_half(const Byte* from) noexcept {
  return half_to_float(load<std::uint16_t>(from));
}

// f16 d, 16 bytes of nibbles: value i is in the low half of byte i, value 16 + i in its high half.
void read_q4_0(const Byte* block, float* out) noexcept {
  const float d = load_half(block);
  const Byte* const quants = block + 2;
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    out[i] = d * static_cast<float>((quants[i] & 15) - 8);
    out[i + kBlock / 2] = d * static_cast<float>((quants[i] >> 4) - 8);
  }
}

// f16 d, f16 m, nibbles as in Q4_0, without sign.
void read_q4_1(const Byte* block, float* out) noexcept {
  const float d = load_half(block);
  const float m = load_half(block + 2);
  const Byte* const quants = block + 4;
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    out[i] = d * static_cast<float>(quants[i] & 15) + m;
    out[i + kBlock / 2] = d * static_cast<float>(quants[i] >> 4) + m;
  }
}

// The 5-bit value i of a Q5_0 or Q5_1 block: a nibble, and bit i of a 32-bit word as its fifth bit.
struct FiveBits {
  std::uint32_t high;
  const Byte* nibbles;
  int low_half(std::size_t i) const noexcept { return (nibbles[i] & 15) | static_cast<int>(((high >> i) & 1) << 4); }
  int high_half(std::size_t i) const noexcept {
    return (nibbles[i] >> 4) | static_cast<int>(((high >> (i + kBlock / 2)) & 1) << 4);
  }
};

// f16 d, u32 of fifth bits, nibbles.
void read_q5_0(const Byte* block, float* out) noexcept {
  const float d = load_half(block);
  const FiveBits quants{load<std::uint32_t>(block + 2), block + 6};
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    out[i] = d * static_cast<float>(quants.low_half(i) - 16);
    out[i + kBlock / 2] = d * static_cast<float>(quants.high_half(i) - 16);
  }
}

// f16 d, f16 m, u32 of fifth bits, nibbles.
void read_q5_1(const Byte* block, float* out) noexcept {
  const float d = load_half(block);
  const float m = load_half(block + 2);
  const FiveBits quants{load<std::uint32_t>(block + 4), block + 8};
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    out[i] = d * static_cast<float>(quants.low_half(i)) + m;
    out[i + kBlock / 2] = d * static_cast<float>(quants.high_half(i)) + m;
  }
}

// f16 d, 32 signed bytes.
void read_q8_0(const Byte* block, float* out) noexcept {
  const float d = load_half(block);
  for (std::size_t i = 0; i < kBlock; ++i) {
    out[i] = d * static_cast<float>(load<std::int8_t>(block + 2 + i));
  }
}

// A super-block of Q4_K or Q5_K has 8 runs of 32 values, each with a 6-bit scale and a 6-bit minimum in 12 bytes: runs
// 0..3 use the low 6 bits of bytes 0..3 (scale) and 4..7 (minimum); runs 4..7 take 4 bits from bytes 8..11 and their
// upper two from the top of those first eight.
struct ScaleMin {
  float scale;
  float min;
};

ScaleMin packed_scale_min(const Byte* packed, std::size_t run) noexcept {
  if (run < 4) {
    return {static_cast<float>(packed[run] & 63), static_cast<float>(packed[run + 4] & 63)};
  }
  const int scale = (packed[run + 4] & 15) | ((packed[run - 4] >> 6) << 4);
  const int min = (packed[run + 4] >> 4) | ((packed[run] >> 6) << 4);
  return {static_cast<float>(scale), static_cast<float>(min)};
}

// f16 d, f16 dmin, 12 bytes of scales, 128 bytes of nibbles: run 2c in the low halves of bytes 32c.., run 2c + 1 in the
// high halves. Q5_K (`fifth_bits` not null) adds 32 bytes before the nibbles; bit r of byte i belongs to value i of run
// r.
void read_q4_or_q5_k(const Byte* block, const Byte* fifth_bits, const Byte* nibbles, float* out) noexcept {
  const float d = load_half(block);
  const float dmin = load_half(block + 2);
  for (std::size_t run = 0; run < 8; ++run) {
    const ScaleMin packed = packed_scale_min(block + 4, run);
    const float scale = d * packed.scale;
    const float min = dmin * packed.min;
    const unsigned shift = run % 2 == 0 ? 0 : 4;
    for (std::size_t i = 0; i < kBlock; ++i) {
      int quant = (nibbles[run / 2 * kBlock + i] >> shift) & 15;
      if (fifth_bits != nullptr) {
        quant |= ((fifth_bits[i] >> run) & 1) << 4;
      }
      out[run * kBlock + i] = scale * static_cast<float>(quant) - min;
    }
  }
}

void read_q4_k(const Byte* block, float* out) noexcept {
  read_q4_or_q5_k(block, nullptr, block + 16, out);
}
void read_q5_k(const Byte* block, float* out) noexcept {
  read_q4_or_q5_k(block, block + 16, block + 48, out);
}

// 128 bytes of low 4 bits, 64 bytes of upper 2 bits, 16 signed scales (one for 16 values), f16 d. Each half of 128
// values is four runs of 32: runs 0, 1 in the low nibbles of bytes 0..31 and 32..63, runs 2, 3 in their high nibbles;
// the upper bits of run r are bits 2r, 2r + 1 of byte i.
void read_q6_k(const Byte* block, float* out) noexcept {
  const Byte* const scales = block + 192;
  const float d = load_half(block + 208);
  for (std::size_t run = 0; run < 8; ++run) {
    const std::size_t half = run / 4;
    const std::size_t inside = run % 4;
    const Byte* const low = block + half * 64 + (inside % 2) * kBlock;
    const Byte* const high = block + 128 + half * 32;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const int quant = ((low[i] >> (inside / 2 * 4)) & 15) | (((high[i] >> (2 * inside)) & 3) << 4);
      const float scale = d * static_cast<float>(load<std::int8_t>(scales + run * 2 + i / 16));
      out[run * kBlock + i] = scale * static_cast<float>(quant - 32);
    }
  }
}

void read_f32(const Byte* block, float* out) noexcept {
  *out = load<float>(block);
}
void read_f16(const Byte* block, float* out) noexcept {
  *out = load_half(block);
}
void read_bf16(const Byte* block, float* out) noexcept {
  *out = bfloat16_to_float(load<std::uint16_t>(block));
}

using ReadBlock = void (*)(const Byte*, float*) noexcept;

ReadBlock reader_of(TensorType type) {
  switch (type) {
    case TensorType::F32:
      return read_f32;
    case TensorType::F16:
      return read_f16;
    case TensorType::BF16:
      return read_bf16;
    case TensorType::Q4_0:
      return read_q4_0;
    case TensorType::Q4_1:
      return read_q4_1;
    case TensorType::Q5_0:
      return read_q5_0;
    case TensorType::Q5_1:
      return read_q5_1;
    case TensorType::Q8_0:
      return read_q8_0;
    case TensorType::Q4_K:
      return read_q4_k;
    case TensorType::Q5_K:
      return read_q5_k;
    case TensorType::Q6_K:
      return read_q6_k;
  }
  BATON_CHECK(false, static_cast<int>(type));
  return nullptr;
}

}  // namespace

void dequantize_row(TensorType type, const std::byte* row, std::size_t elements, float* out) {
  const std::size_t step = block_elements(type);
  BATON_CHECK(elements % step == 0, to_string(type), elements);
  const ReadBlock read = reader_of(type);
  const auto* block = reinterpret_cast<const Byte*>(row);
  for (std::size_t done = 0; done < elements; done += step) {
    read(block, out + done);
    block += block_bytes(type);
  }
}

float half_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t fraction = bits & 1023u;
  if (exponent == 31) {  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  }
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24 is exact in a float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

float bfloat16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace baton
