#include "kernels/half.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

namespace baton::kernels {

TEST_CASE("half: every binary16 value survives the way to float and back") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(f16_to_float(float_to_f16(value))));
      continue;
    }
    REQUIRE(float_to_f16(value) == half);
  }
}

TEST_CASE("half: binary16 rounds to nearest even") {
  CHECK(float_to_f16(1.0F) == 0x3C00);
  CHECK(float_to_f16(1.0F + 0x1p-11F) == 0x3C00);      // a tie goes to the even mantissa
  CHECK(float_to_f16(1.0F + 3 * 0x1p-11F) == 0x3C02);  // and up where that is the even one
  CHECK(float_to_f16(1.0F + 0x1.1p-11F) == 0x3C01);
  CHECK(float_to_f16(0x1p-25F) == 0);  // half of the smallest denormal
  CHECK(float_to_f16(0x1.8p-25F) == 1);
  CHECK(float_to_f16(0x1.ffcp-15F + 0x1p-26F) == 0x0400);  // up from denormals to the smallest normal
  CHECK(float_to_f16(65519.0F) == 0x7BFF);
  CHECK(float_to_f16(65520.0F) == 0x7C00);
  CHECK(float_to_f16(-std::numeric_limits<float>::infinity()) == 0xFC00);
}

TEST_CASE("half: bfloat16 rounds to nearest even and keeps NaN") {
  CHECK(float_to_bf16(1.0F) == 0x3F80);
  CHECK(float_to_bf16(1.0F + 0x1p-8F) == 0x3F80);
  CHECK(float_to_bf16(1.0F + 3 * 0x1p-8F) == 0x3F82);
  CHECK(float_to_bf16(-2.0F) == 0xC000);
  CHECK(std::isnan(bf16_to_float(float_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(bf16_to_float(float_to_bf16(0.15625F)) == 0.15625F);
}

}  // namespace baton::kernels
