// Number formats of weights, activations and cached keys and values, and how many bytes they take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace baton::sim {

enum class Dtype : std::uint8_t {
  bf16,
  fp8,        // one scale per tensor or row
  fp8_block,  // one scale per block of 128 x 128 weights, 1 x 128 activations
  fp4,        // NVFP4, MXFP4: one byte of scale per 16 elements counted
};
inline constexpr std::size_t kDtypes = 4;

inline constexpr std::array<std::pair<std::string_view, Dtype>, kDtypes> kDtypeNames{{
    {"bf16", Dtype::bf16},
    {"fp8", Dtype::fp8},
    {"fp8_block", Dtype::fp8_block},
    {"fp4", Dtype::fp4},
}};

// The formats that keys and values are cached in.
inline constexpr std::array<std::pair<std::string_view, Dtype>, 2> kKvDtypeNames{{
    {"bf16", Dtype::bf16},
    {"fp8", Dtype::fp8},
}};

constexpr std::string_view to_string(Dtype type) noexcept {
  return kDtypeNames[static_cast<std::size_t>(type)].first;
}

// Bytes per element, scales of fp4 included (those of fp8 are below 1 % and left out).
constexpr double bytes_of(Dtype type) noexcept {
  switch (type) {
    case Dtype::bf16:
      return 2;
    case Dtype::fp8:
    case Dtype::fp8_block:
      return 1;
    case Dtype::fp4:
      return 0.5625;
  }
  return 2;
}

struct Precision {
  Dtype weights = Dtype::bf16;
  Dtype activations = Dtype::bf16;  // bf16 with narrow weights: weights are widened before they are multiplied
  Dtype kv = Dtype::bf16;

  // What the matrix units multiply in.
  constexpr Dtype compute() const noexcept { return activations == Dtype::bf16 ? Dtype::bf16 : weights; }

  bool operator==(const Precision&) const = default;
};

}  // namespace baton::sim
