// What the kernel tests share: running a step on a pool and waiting for it, random data, packed random weights.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <vector>

#include "kernels/compute_pool.h"
#include "kernels/half.h"
#include "kernels/huge_buffer.h"
#include "kernels/packed_matrix.h"

namespace baton::kernels::test {

// Runs `step` as one step of the pool; returns when it is done and rethrows what it threw.
inline void on_lane(ComputePool& pool, std::function<void(Lane&)> step, Priority priority = Priority::decode) {
  const auto ended = std::make_shared<std::promise<void>>();  // shared: set_value may still run when get() returns
  std::exception_ptr failure;  // moved, not copied: the pool thread must keep no reference to what is thrown here
  pool.submit(priority, std::move(step), [&failure, ended](std::exception_ptr error) {
    failure = std::move(error);
    ended->set_value();
  });
  ended->get_future().get();
  if (failure) {
    std::rethrow_exception(std::move(failure));
  }
}

inline std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa <= host_isa()) {
      all.push_back(isa);
    }
  }
  return all;
}

inline std::vector<float> random_values(std::size_t count, std::uint32_t seed, float deviation = 1.0F) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(engine);
  }
  return values;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Random weights in a format, and the same values as floats for naive loops.
struct RandomWeights {
  HugeBuffer memory;
  PackedMatrix packed;
  std::vector<float> values;  // [rows, cols]
};

inline std::vector<std::byte> random_blocks(PackedFormat format, std::size_t blocks, std::uint32_t seed) {
  const bool minimum = format == PackedFormat::q4_1x8 || format == PackedFormat::q4_1x16;
  const bool q8 = format == PackedFormat::q8_0x8 || format == PackedFormat::q8_0x16;
  const std::size_t quant_bytes = q8 ? 32 : 16;
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> scale(0.001F, 0.02F);
  std::vector<std::byte> bytes;
  const auto put_half = [&bytes](float value) {
    const std::uint16_t half = float_to_f16(value);
    bytes.push_back(static_cast<std::byte>(half & 0xFF));
    bytes.push_back(static_cast<std::byte>(half >> 8));
  };
  for (std::size_t block = 0; block < blocks; ++block) {
    put_half(block % 3 == 0 ? -scale(engine) : scale(engine));
    if (minimum) {
      put_half(-8 * scale(engine));
    }
    for (std::size_t i = 0; i < quant_bytes; ++i) {
      bytes.push_back(static_cast<std::byte>(engine() & 0xFF));
    }
  }
  return bytes;
}

inline RandomWeights random_weights(PackedFormat format, std::uint32_t rows, std::uint32_t cols, std::uint32_t seed) {
  RandomWeights weights;
  weights.memory = HugeBuffer(packed_bytes(format, rows, cols));
  const PackTarget target = {format, rows, cols, weights.memory.data()};
  if (is_quantised(format)) {
    const std::size_t blocks = cols / 32;
    const std::vector<std::byte> bytes = random_blocks(format, rows * blocks, seed);
    const std::size_t row_bytes = bytes.size() / rows;
    pack_quantised_rows(target, 0, rows, [&](std::uint32_t row) { return bytes.data() + row * row_bytes; });
  } else {
    const std::vector<float> values = random_values(std::size_t{rows} * cols, seed, 0.05F);
    pack_float_rows(target, 0, rows, [&](std::uint32_t row, float* out) {
      std::memcpy(out, values.data() + std::size_t{row} * cols, cols * sizeof(float));
    });
  }
  weights.packed = target.matrix();
  weights.values.resize(std::size_t{rows} * cols);
  for (std::uint32_t row = 0; row < rows; ++row) {
    unpack_row(weights.packed, row, weights.values.data() + std::size_t{row} * cols);
  }
  return weights;
}

}  // namespace baton::kernels::test
