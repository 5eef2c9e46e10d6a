#include "kernels/packed_matrix.h"

#include <cmath>

#include <doctest/doctest.h>

#include "runtime/errors.h"
#include "tests/kernels/kernel_fixture.h"

namespace baton::kernels::test {

namespace {

constexpr PackedFormat kQuantised[] = {PackedFormat::q4_0x8,  PackedFormat::q4_1x8,  PackedFormat::q8_0x8,
                                       PackedFormat::q4_0x16, PackedFormat::q4_1x16, PackedFormat::q8_0x16};

// The file's meaning of a block, straight from the format's definition.
float block_value(PackedFormat format, const std::byte* block, std::size_t element) {
  std::uint16_t half = 0;
  std::memcpy(&half, block, 2);
  const float d = f16_to_float(half);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(block);
  if (format == PackedFormat::q8_0x8 || format == PackedFormat::q8_0x16) {
    return d * static_cast<float>(static_cast<std::int8_t>(bytes[2 + element]));
  }
  const bool minimum = format == PackedFormat::q4_1x8 || format == PackedFormat::q4_1x16;
  const std::uint8_t byte = bytes[(minimum ? 4 : 2) + element % 16];
  const int q = element < 16 ? byte & 15 : byte >> 4;
  if (!minimum) {
    return d * static_cast<float>(q - 8);
  }
  std::memcpy(&half, block + 2, 2);
  return d * static_cast<float>(q) + f16_to_float(half);
}

}  // namespace

TEST_CASE("packed_matrix: a quantised row comes back as the file means it, in any interleaving") {
  constexpr std::uint32_t kRows = 21;
  constexpr std::uint32_t kCols = 96;
  for (const PackedFormat format : kQuantised) {
    CAPTURE(to_string(format));
    const std::vector<std::byte> bytes = random_blocks(format, kRows * kCols / 32, 5);
    const std::size_t row_bytes = bytes.size() / kRows;
    const HugeBuffer memory(packed_bytes(format, kRows, kCols));
    const PackTarget target = {format, kRows, kCols, memory.data()};
    // Two calls, as for a fused matrix, the second beginning inside a panel.
    pack_quantised_rows(target, 0, 10, [&](std::uint32_t row) { return bytes.data() + row * row_bytes; });
    pack_quantised_rows(target, 10, kRows - 10,
                        [&](std::uint32_t row) { return bytes.data() + (row + 10) * row_bytes; });
    std::vector<float> values(kCols);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      unpack_row(target.matrix(), row, values.data());
      for (std::size_t k = 0; k < kCols; ++k) {
        const std::byte* block = bytes.data() + row * row_bytes + k / 32 * (row_bytes / (kCols / 32));
        REQUIRE(values[k] == block_value(format, block, k % 32));
      }
    }
  }
}

TEST_CASE("packed_matrix: float formats round as their type says") {
  const std::vector<float> source = random_values(std::size_t{19} * 37, 3);
  for (const PackedFormat format : {PackedFormat::f32_rows, PackedFormat::f16_panel, PackedFormat::bf16_panel}) {
    const HugeBuffer memory(packed_bytes(format, 19, 37));
    const PackTarget target = {format, 19, 37, memory.data()};
    pack_float_rows(target, 0, 19,
                    [&](std::uint32_t row, float* out) { std::copy_n(source.data() + row * 37, 37, out); });
    std::vector<float> values(37);
    for (std::uint32_t row = 0; row < 19; ++row) {
      unpack_row(target.matrix(), row, values.data());
      for (std::size_t k = 0; k < 37; ++k) {
        const float value = source[row * 37 + k];
        const float expected = format == PackedFormat::f32_rows    ? value
                               : format == PackedFormat::f16_panel ? f16_to_float(float_to_f16(value))
                                                                   : bf16_to_float(float_to_bf16(value));
        REQUIRE(values[k] == expected);
      }
    }
  }
}

TEST_CASE("packed_matrix: sizes are the file's plus padding, and impossible shapes are refused") {
  CHECK(packed_bytes(PackedFormat::q4_1x8, 576, 576) == 576 * 18 * 20);
  CHECK(packed_bytes(PackedFormat::q8_0x16, 576, 1536) == 576 * 48 * 34);
  CHECK(packed_bytes(PackedFormat::bf16_panel, 17, 64) == 2 * 16 * 64 * 2);
  CHECK_THROWS_AS(packed_bytes(PackedFormat::q4_0x8, 8, 48), Error);
  CHECK_THROWS_AS(packed_bytes(PackedFormat::f32_rows, 0, 48), Error);
  CHECK_THROWS_AS(packed_bytes(PackedFormat::bf16_panel, 8, 0), Error);
}

TEST_CASE("packed_matrix: each source type has a format for each instruction set") {
  CHECK(preferred_format(SourceType::q4_1, Isa::avx2) == PackedFormat::q4_1x8);
  CHECK(preferred_format(SourceType::q4_1, Isa::avx512) == PackedFormat::q4_1x16);
  CHECK(preferred_format(SourceType::bf16, Isa::portable) == PackedFormat::bf16_panel);
  CHECK(preferred_format(SourceType::f16, Isa::avx512) == PackedFormat::f16_panel);
  CHECK(preferred_format(SourceType::other, Isa::avx2) == PackedFormat::f16_panel);
}

}  // namespace baton::kernels::test
