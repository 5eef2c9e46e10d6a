#include <cmath>

#include <doctest/doctest.h>

#include "kernels/ops.h"
#include "tests/kernels/kernel_fixture.h"

namespace baton::kernels::test {

namespace {

constexpr std::size_t kDims[] = {1, 7, 16, 31, 64, 100, 576};

void check_close(const std::vector<float>& got, const std::vector<double>& expected, double relative) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(std::abs(static_cast<double>(got[i]) - expected[i]) <= relative * (std::abs(expected[i]) + 1e-3));
  }
}

}  // namespace

TEST_CASE("rms_norm: is the formula, for any width and row count") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const std::size_t dim : kDims) {
      for (const std::size_t rows : {1UL, 3UL, 65UL}) {
        INFO(to_string(isa), " ", dim, " ", rows);
        const std::vector<float> x = random_values(rows * dim, 1);
        const std::vector<float> weight = random_values(dim, 2);
        std::vector<float> out(rows * dim);
        on_lane(pool, [&](Lane& lane) { rms_norm(lane, x.data(), weight.data(), 1e-5F, rows, dim, out.data()); });
        std::vector<double> expected(rows * dim);
        for (std::size_t row = 0; row < rows; ++row) {
          double sum = 0;
          for (std::size_t i = 0; i < dim; ++i) {
            sum += std::pow(static_cast<double>(x[row * dim + i]), 2);
          }
          const double factor = 1 / std::sqrt(sum / static_cast<double>(dim) + 1e-5);
          for (std::size_t i = 0; i < dim; ++i) {
            expected[row * dim + i] = x[row * dim + i] * factor * weight[i];
          }
        }
        check_close(out, expected, 2e-6);
      }
    }
  }
}

TEST_CASE("rms_norm_heads: normalises each head in place and leaves the gaps alone") {
  ComputePool pool(2);
  constexpr std::size_t kStride = 3 * 24 + 5;
  const std::vector<float> before = random_values(4 * kStride, 8);
  const std::vector<float> weight = random_values(24, 9);
  std::vector<float> x = before;
  on_lane(pool, [&](Lane& lane) { rms_norm_heads(lane, x.data(), kStride, weight.data(), 1e-6F, 4, 3, 24); });
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t head = 0; head < 3; ++head) {
      std::vector<float> expected(24);
      const float* source = before.data() + row * kStride + head * 24;
      on_lane(pool, [&](Lane& lane) { rms_norm(lane, source, weight.data(), 1e-6F, 1, 24, expected.data()); });
      CHECK(std::memcmp(x.data() + row * kStride + head * 24, expected.data(), 24 * sizeof(float)) == 0);
    }
    CHECK(std::memcmp(x.data() + row * kStride + 72, before.data() + row * kStride + 72, 5 * sizeof(float)) == 0);
  }
}

TEST_CASE("rope: rotates the pairs (i, i + head_dim / 2)") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const std::size_t head_dim : {2UL, 16UL, 20UL, 64UL, 128UL}) {
      const std::size_t half = head_dim / 2;
      const std::size_t stride = 3 * head_dim + 4;
      std::vector<float> x = random_values(5 * stride, 11);
      const std::vector<float> before = x;
      const std::vector<float> cosines = random_values(5 * half, 12);
      const std::vector<float> sines = random_values(5 * half, 13);
      on_lane(pool, [&](Lane& lane) { rope(lane, x.data(), stride, 5, 3, head_dim, cosines.data(), sines.data()); });
      std::vector<double> expected(before.begin(), before.end());
      for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t head = 0; head < 3; ++head) {
          for (std::size_t i = 0; i < half; ++i) {
            const std::size_t at = row * stride + head * head_dim + i;
            const double c = cosines[row * half + i];
            const double s = sines[row * half + i];
            expected[at] = before[at] * c - before[at + half] * s;
            expected[at + half] = before[at + half] * c + before[at] * s;
          }
        }
      }
      check_close(x, expected, 1e-4);
    }
  }
}

TEST_CASE("silu_mul: is the formula, and a value does not depend on its place") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    std::vector<float> gate = random_values(20000, 21, 8.0F);
    gate[0] = -100;
    gate[1] = 100;
    gate[2] = 0;
    const std::vector<float> up = random_values(20000, 22);
    std::vector<float> out(20000);
    on_lane(pool, [&](Lane& lane) { silu_mul(lane, gate.data(), up.data(), out.size(), out.data()); });
    std::vector<double> expected(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      expected[i] = gate[i] / (1 + std::exp(-static_cast<double>(gate[i]))) * up[i];
    }
    check_close(out, expected, 1e-6);
    for (std::size_t begin = 0; begin < 100; begin += 7) {
      std::vector<float> part(61);
      on_lane(pool, [&](Lane& lane) { silu_mul(lane, gate.data() + begin, up.data() + begin, 61, part.data()); });
      REQUIRE(std::memcmp(part.data(), out.data() + begin, 61 * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("add: adds") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    const std::vector<float> x = random_values(50001, 31);
    std::vector<float> out = random_values(50001, 32);
    const std::vector<float> before = out;
    on_lane(pool, [&](Lane& lane) { add(lane, x.data(), out.size(), out.data()); });
    for (std::size_t i = 0; i < out.size(); ++i) {
      REQUIRE(out[i] == before[i] + x[i]);
    }
  }
}

TEST_CASE("embed: writes the rows of the tokens") {
  ComputePool pool(2);
  for (const PackedFormat format : {PackedFormat::q8_0x16, PackedFormat::f32_rows, PackedFormat::bf16_panel}) {
    const RandomWeights table = random_weights(format, 50, 64, 41);
    const std::vector<std::int32_t> tokens = {0, 49, 7, 7, 16};
    std::vector<float> out(tokens.size() * 64);
    on_lane(pool, [&](Lane& lane) { embed(lane, table.packed, tokens, out.data()); });
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const float* row = table.values.data() + static_cast<std::size_t>(tokens[i]) * 64;
      CHECK(std::memcmp(out.data() + i * 64, row, 64 * sizeof(float)) == 0);
    }
  }
}

}  // namespace baton::kernels::test
