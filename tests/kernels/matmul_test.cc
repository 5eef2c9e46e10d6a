#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "kernels/ops.h"
#include "tests/kernels/kernel_fixture.h"

namespace baton::kernels::test {

namespace {

constexpr PackedFormat kFormats[] = {PackedFormat::f32_rows, PackedFormat::f16_panel, PackedFormat::bf16_panel,
                                     PackedFormat::q4_0x8,   PackedFormat::q4_1x8,    PackedFormat::q8_0x8,
                                     PackedFormat::q4_0x16,  PackedFormat::q4_1x16,   PackedFormat::q8_0x16};

// What a quantised product makes of its activations: 32 at a time to int8.
std::vector<double> rounded_activations(const std::vector<float>& x, bool quantised) {
  std::vector<double> result(x.begin(), x.end());
  for (std::size_t begin = 0; quantised && begin < x.size(); begin += 32) {
    float range = 0;
    for (std::size_t i = begin; i < begin + 32; ++i) {
      range = std::max(range, std::abs(x[i]));
    }
    for (std::size_t i = begin; i < begin + 32; ++i) {
      const float inverse = range > 1e-36F ? 127.0F / range : 0.0F;
      result[i] = static_cast<double>(std::nearbyint(x[i] * inverse)) * static_cast<double>(range / 127.0F);
    }
  }
  return result;
}

std::vector<double> naive_matmul(const std::vector<double>& x, std::size_t rows, const RandomWeights& w) {
  const std::size_t cols = w.packed.cols;
  std::vector<double> out(rows * w.packed.rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t n = 0; n < w.packed.rows; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < cols; ++k) {
        sum += x[row * cols + k] * static_cast<double>(w.values[n * cols + k]);
      }
      out[row * w.packed.rows + n] = sum;
    }
  }
  return out;
}

std::vector<float> run_matmul(ComputePool& pool, const std::vector<float>& x, const PackedMatrix& w,
                              const float* bias = nullptr) {
  const std::size_t rows = x.size() / w.cols;
  std::vector<float> out(rows * w.rows);
  on_lane(pool, [&](Lane& lane) { matmul(lane, x.data(), rows, w, bias, out.data(), w.rows); });
  return out;
}

}  // namespace

TEST_CASE("matmul: agrees with double loops in every format, shape and instruction set") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const PackedFormat format : kFormats) {
      for (const std::uint32_t rows : {1U, 8U, 15U, 64U, 83U}) {
        for (const std::uint32_t cols : {32U, 96U, 576U}) {
          const RandomWeights w = random_weights(format, rows, cols, rows * 7 + cols);
          for (const std::size_t tokens : {1UL, 2UL, 3UL, 5UL, 8UL, 13UL}) {
            INFO(to_string(isa), " ", to_string(format), " ", rows, " ", cols, " ", tokens);
            const std::vector<float> x = random_values(tokens * cols, 17);
            const std::vector<float> got = run_matmul(pool, x, w.packed);
            const std::vector<double> expected = naive_matmul(rounded_activations(x, is_quantised(format)), tokens, w);
            const double size = std::sqrt(static_cast<double>(cols));
            for (std::size_t i = 0; i < got.size(); ++i) {
              REQUIRE(std::abs(static_cast<double>(got[i]) - expected[i]) < 1e-6 * size * (1 + std::abs(expected[i])));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("matmul: columns of a float format need no multiple of anything") {
  for (const Isa isa : isas()) {
    ComputePool pool(1, isa);
    for (const PackedFormat format : {PackedFormat::f32_rows, PackedFormat::f16_panel, PackedFormat::bf16_panel}) {
      const RandomWeights w = random_weights(format, 33, 51, 5);
      const std::vector<float> x = random_values(7 * 51, 6);
      const std::vector<float> got = run_matmul(pool, x, w.packed);
      const std::vector<double> expected = naive_matmul(rounded_activations(x, false), 7, w);
      for (std::size_t i = 0; i < got.size(); ++i) {
        REQUIRE(std::abs(static_cast<double>(got[i]) - expected[i]) < 1e-5);
      }
    }
  }
}

TEST_CASE("matmul: a row's result is the same to the bit whatever stands beside it") {
  constexpr std::uint32_t kRows = 200;
  constexpr std::uint32_t kCols = 192;
  for (const Isa isa : isas()) {
    ComputePool alone(1, isa);
    for (const PackedFormat format : kFormats) {
      const RandomWeights w = random_weights(format, kRows, kCols, 77);
      const std::vector<float> bias = random_values(kRows, 78);
      const std::vector<float> x = random_values(std::size_t{300} * kCols, 79);
      std::vector<float> single(std::size_t{300} * kRows);
      for (std::size_t row = 0; row < 300; ++row) {
        const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(row * kCols),
                                     x.begin() + static_cast<std::ptrdiff_t>((row + 1) * kCols));
        const std::vector<float> out = run_matmul(alone, one, w.packed, bias.data());
        std::copy(out.begin(), out.end(), single.begin() + static_cast<std::ptrdiff_t>(row * kRows));
      }
      for (const unsigned threads : {1U, 2U, 4U}) {
        ComputePool pool(threads, isa);
        for (std::size_t tokens = 1; tokens <= 300; tokens += tokens < 66 ? 1 : 117) {
          const std::size_t first = 300 - tokens;  // not always the same rows
          const std::vector<float> part(x.begin() + static_cast<std::ptrdiff_t>(first * kCols), x.end());
          const std::vector<float> out = run_matmul(pool, part, w.packed, bias.data());
          INFO(to_string(isa), " ", to_string(format), " ", threads, " ", tokens);
          REQUIRE(std::memcmp(out.data(), single.data() + first * kRows, out.size() * sizeof(float)) == 0);
        }
      }
    }
  }
}

TEST_CASE("matmul: accumulates, adds the bias and keeps to its stride") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const PackedFormat format : kFormats) {
      const RandomWeights w = random_weights(format, 21, 64, 3);
      const std::vector<float> x = random_values(6 * 64, 4);
      const std::vector<float> bias = random_values(21, 5);
      const std::vector<float> plain = run_matmul(pool, x, w.packed);
      std::vector<float> out(6 * 30, 2.0F);
      on_lane(pool, [&](Lane& lane) { matmul(lane, x.data(), 6, w.packed, bias.data(), out.data(), 30, true); });
      for (std::size_t row = 0; row < 6; ++row) {
        for (std::size_t n = 0; n < 30; ++n) {
          const float expected = n < 21 ? 2.0F + (plain[row * 21 + n] + bias[n]) : 2.0F;
          REQUIRE(out[row * 30 + n] == expected);
        }
      }
    }
  }
}

TEST_CASE("matmul: zero and tiny activations give zero, not NaN") {
  for (const Isa isa : isas()) {
    ComputePool pool(1, isa);
    for (const PackedFormat format : kFormats) {
      const RandomWeights w = random_weights(format, 16, 64, 3);
      for (const float value : {0.0F, 1e-40F, -1e-38F}) {
        const std::vector<float> x(2 * 64, value);
        for (const float out : run_matmul(pool, x, w.packed)) {
          REQUIRE(std::abs(out) < 1e-30F);
        }
      }
    }
  }
}

TEST_CASE("norm_matmul: equals rms_norm and matmul to the bit") {
  ComputePool pool(2);
  for (const PackedFormat format : kFormats) {
    const RandomWeights w = random_weights(format, 40, 96, 13);
    const std::vector<float> x = random_values(9 * 96, 14);
    const std::vector<float> weight = random_values(96, 15);
    std::vector<float> normed(x.size());
    std::vector<float> out(9 * 40);
    on_lane(pool, [&](Lane& lane) {
      rms_norm(lane, x.data(), weight.data(), 1e-5F, 9, 96, normed.data());
      norm_matmul(lane, x.data(), weight.data(), 1e-5F, 9, w.packed, nullptr, out.data(), 40);
    });
    CHECK(same_bits(out, run_matmul(pool, normed, w.packed)));
  }
}

TEST_CASE("gate_up_silu: equals its parts to the bit, also where the halves share a panel") {
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const PackedFormat format : kFormats) {
      for (const std::uint32_t ffn : {24U, 64U, 208U}) {
        const RandomWeights w = random_weights(format, 2 * ffn, 96, 23);
        const std::vector<float> x = random_values(150 * 96, 24);
        const std::vector<float> both = run_matmul(pool, x, w.packed);
        std::vector<float> out(150 * ffn);
        std::vector<float> expected(150 * ffn);
        on_lane(pool, [&](Lane& lane) {
          gate_up_silu(lane, x.data(), nullptr, 0, 150, w.packed, out.data());
          for (std::size_t row = 0; row < 150; ++row) {
            const float* gate = both.data() + row * 2 * ffn;
            silu_mul(lane, gate, gate + ffn, ffn, expected.data() + row * ffn);
          }
        });
        INFO(to_string(isa), " ", to_string(format), " ", ffn);
        REQUIRE(same_bits(out, expected));
      }
    }
  }
}

}  // namespace baton::kernels::test
