#include "model/files/model_shape.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "model/files/file_error.h"
#include "runtime/check.h"

namespace baton {
namespace {

// Far beyond any published model of these families, and small enough that products of two fit 64 bits and q_rows
// fits 32.
constexpr std::uint32_t kLayersMax = 1024;
constexpr std::uint32_t kHiddenMax = 1 << 17;
constexpr std::uint32_t kHeadsMax = 1024;
constexpr std::uint32_t kHeadDimMax = 1024;
constexpr std::uint32_t kFfnMax = 1 << 20;
constexpr std::uint32_t kVocabMax = 1 << 22;
constexpr std::uint32_t kContextMax = 1 << 28;

void check_range(const std::string& origin, std::string_view field, std::uint32_t value, std::uint32_t max) {
  if (value == 0 || value > max) {
    fail_file(origin, fmt::format("{} is {}, 1 to {} are supported", field, value, max));
  }
}

void check_positive(const std::string& origin, std::string_view field, double value) {
  if (!std::isfinite(value) || value <= 0) {
    fail_file(origin, fmt::format("{} is {}, a positive number was expected", field, value));
  }
}

void check_rope(const RopeShape& rope, std::uint32_t head_dim, const std::string& origin) {
  check_positive(origin, "the RoPE base", rope.base);
  check_positive(origin, "the RoPE scaling factor", rope.factor);
  if (rope.scaling == RopeScaling::llama3) {
    check_positive(origin, "low_freq_factor", rope.low_freq_factor);
    check_positive(origin, "original_max_position_embeddings", rope.original_context);
    if (!std::isfinite(rope.high_freq_factor) || rope.high_freq_factor <= rope.low_freq_factor) {
      fail_file(origin, fmt::format("high_freq_factor is {}, it must be above low_freq_factor, which is {}",
                                    rope.high_freq_factor, rope.low_freq_factor));
    }
  }
  if (rope.scaling == RopeScaling::divisors) {
    if (rope.divisors.size() != head_dim / 2) {
      fail_file(origin, fmt::format("has {} RoPE divisors, heads of {} values need {}", rope.divisors.size(), head_dim,
                                    head_dim / 2));
    }
    for (const float divisor : rope.divisors) {
      check_positive(origin, "a RoPE divisor", divisor);
    }
  }
}

double llama3_frequency(const RopeShape& rope, double frequency) {
  const double turns = rope.original_context * frequency / (2 * std::numbers::pi);  // over the original context
  if (turns > rope.high_freq_factor) {
    return frequency;
  }
  if (turns < rope.low_freq_factor) {
    return frequency / rope.factor;
  }
  const double blend = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - blend) * frequency / rope.factor + blend * frequency;
}

}  // namespace

std::string_view to_string(Architecture architecture) noexcept {
  switch (architecture) {
    case Architecture::llama:
      return "llama";
    case Architecture::qwen2:
      return "qwen2";
    case Architecture::qwen3:
      return "qwen3";
  }
  return "?";
}

std::string_view to_string(RopeScaling scaling) noexcept {
  switch (scaling) {
    case RopeScaling::none:
      return "none";
    case RopeScaling::linear:
      return "linear";
    case RopeScaling::llama3:
      return "llama3";
    case RopeScaling::divisors:
      return "divisors";
  }
  return "?";
}

void ModelShape::validate(const std::string& origin) const {
  check_range(origin, "the number of layers", layers, kLayersMax);
  check_range(origin, "the hidden size", hidden, kHiddenMax);
  check_range(origin, "the number of attention heads", heads, kHeadsMax);
  check_range(origin, "the number of key/value heads", kv_heads, kHeadsMax);
  check_range(origin, "the head dimension", head_dim, kHeadDimMax);
  check_range(origin, "the feed-forward size", ffn, kFfnMax);
  check_range(origin, "the vocabulary size", vocab, kVocabMax);
  check_range(origin, "the context length", context_length, kContextMax);
  check_positive(origin, "the RMS norm epsilon", rms_eps);
  if (heads % kv_heads != 0) {
    fail_file(origin, fmt::format("{} attention heads cannot share {} key/value heads evenly", heads, kv_heads));
  }
  if (head_dim % 2 != 0) {
    fail_file(origin, fmt::format("the head dimension is {}, RoPE needs an even one", head_dim));
  }
  check_rope(rope, head_dim, origin);
}

std::vector<float> rope_frequencies(const ModelShape& shape) {
  const RopeShape& rope = shape.rope;
  const std::size_t pairs = shape.head_dim / 2;
  BATON_CHECK(rope.scaling != RopeScaling::divisors || rope.divisors.size() == pairs, rope.divisors.size(), pairs);
  std::vector<float> result(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    double frequency = std::pow(rope.base, -2.0 * static_cast<double>(i) / shape.head_dim);
    if (rope.scaling == RopeScaling::linear) {
      frequency /= rope.factor;
    } else if (rope.scaling == RopeScaling::llama3) {
      frequency = llama3_frequency(rope, frequency);
    } else if (rope.scaling == RopeScaling::divisors) {
      frequency /= static_cast<double>(rope.divisors[i]);
    }
    result[i] = static_cast<float>(frequency);
  }
  return result;
}

}  // namespace baton
