#include "model/files/dequantize.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/files/safetensors.h"

namespace baton::test {

TEST_CASE("tensor types: sizes and ids are those of the GGUF specification") {
  CHECK(row_bytes(TensorType::F32, 3) == 12);
  CHECK(row_bytes(TensorType::Q4_0, 64) == 36);
  CHECK(row_bytes(TensorType::Q4_1, 576) == 360);
  CHECK(row_bytes(TensorType::Q8_0, 32) == 34);
  CHECK(row_bytes(TensorType::Q6_K, 512) == 420);
  for (const TensorType type : kTensorTypes) {
    CHECK(tensor_type_of_gguf(gguf_type_id(type)) == type);
    CHECK(gguf_type_name(gguf_type_id(type)) == to_string(type));
  }
  CHECK_FALSE(tensor_type_of_gguf(23).has_value());
  CHECK(gguf_type_name(23) == "IQ4_XS");
  CHECK(gguf_type_name(999) == "?");
}

TEST_CASE("dequantize_row: equals the Python package gguf to the bit of a float's rounding") {
  const auto vectors = SafetensorsFile::open("tests/data/quants/vectors.safetensors");
  for (const TensorType type : kTensorTypes) {
    const std::string name(to_string(type));
    CAPTURE(name);
    const auto* const blocks = vectors.find_tensor(name + ".blocks");
    const auto* const values = vectors.find_tensor(name + ".values");
    REQUIRE(blocks != nullptr);
    REQUIRE(values != nullptr);
    const std::size_t rows = values->shape[0];
    const std::size_t cols = values->shape[1];
    REQUIRE(blocks->data.size() == rows * row_bytes(type, cols));
    std::vector<float> wanted(rows * cols);
    std::memcpy(wanted.data(), values->data.data(), wanted.size() * sizeof(float));
    std::vector<float> got(rows * cols);
    for (std::size_t row = 0; row < rows; ++row) {
      dequantize_row(type, blocks->data.data() + row * row_bytes(type, cols), cols, got.data() + row * cols);
    }
    std::size_t different = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      different += std::abs(got[i] - wanted[i]) <= 1e-6F * std::abs(wanted[i]) + 1e-7F ? 0U : 1U;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("half_to_float: zeros, subnormals, ones, the largest, infinities and NaN") {
  CHECK(half_to_float(0x0000) == 0.0F);
  CHECK(std::signbit(half_to_float(0x8000)));
  CHECK(half_to_float(0x0001) == std::ldexp(1.0F, -24));
  CHECK(half_to_float(0x83ff) == -1023 * std::ldexp(1.0F, -24));
  CHECK(half_to_float(0x0400) == std::ldexp(1.0F, -14));
  CHECK(half_to_float(0x3c00) == 1.0F);
  CHECK(half_to_float(0xc000) == -2.0F);
  CHECK(half_to_float(0x7bff) == 65504.0F);
  CHECK(half_to_float(0x7c00) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(half_to_float(0x7e00)));
}

TEST_CASE("half_to_float: agrees with the compiler's own conversion on all 65,536 values") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    _Float16 half;
    std::memcpy(&half, &narrow, sizeof half);
    const auto wanted = static_cast<float>(half);
    const float got = half_to_float(narrow);
    if (std::isnan(wanted)) {
      REQUIRE(std::isnan(got));
    } else {
      REQUIRE(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(wanted));
    }
  }
}

}  // namespace baton::test
