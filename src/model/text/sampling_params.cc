#include <fmt/format.h>

#include "model/text/sampling.h"

namespace baton {

namespace {

std::optional<std::string> out_of_range(const char* field, double value, const char* range) {
  return fmt::format("{} must be {}, got {}", field, range, value);
}

bool outside(float value, float low, float high) {
  return !(value >= low && value <= high);
}

std::optional<std::string> validate_ids(const SamplingParams& params, std::size_t vocab_size) {
  const auto unknown = [vocab_size](TokenId id) { return id < 0 || static_cast<std::size_t>(id) >= vocab_size; };
  for (const auto& [id, bias] : params.logit_bias) {
    if (unknown(id)) {
      return fmt::format("logit_bias: token id {} is not in the vocabulary of {}", id, vocab_size);
    }
    if (outside(bias, -100.0F, 100.0F)) {
      return fmt::format("logit_bias of token {} must be in [-100, 100], got {}", id, bias);
    }
  }
  for (const TokenId id : params.allowed_token_ids) {
    if (unknown(id)) {
      return fmt::format("allowed_token_ids: token id {} is not in the vocabulary of {}", id, vocab_size);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> SamplingParams::validate(std::size_t vocab_size) const {
  if (outside(temperature, 0.0F, 1e6F)) {
    return out_of_range("temperature", temperature, "a number not below 0");
  }
  if (top_k < -1) {
    return fmt::format("top_k must be positive, or 0 or -1 for no limit, got {}", top_k);
  }
  if (!(top_p > 0.0F && top_p <= 1.0F)) {
    return out_of_range("top_p", top_p, "in (0, 1]");
  }
  if (outside(min_p, 0.0F, 1.0F)) {
    return out_of_range("min_p", min_p, "in [0, 1]");
  }
  if (!(repetition_penalty > 0.0F && repetition_penalty <= 1e6F)) {
    return out_of_range("repetition_penalty", repetition_penalty, "greater than 0");
  }
  if (outside(presence_penalty, -2.0F, 2.0F)) {
    return out_of_range("presence_penalty", presence_penalty, "in [-2, 2]");
  }
  if (outside(frequency_penalty, -2.0F, 2.0F)) {
    return out_of_range("frequency_penalty", frequency_penalty, "in [-2, 2]");
  }
  if (top_logprobs > kTopLogprobsMax) {
    return fmt::format("top_logprobs must be at most {}, got {}", kTopLogprobsMax, top_logprobs);
  }
  return validate_ids(*this, vocab_size);
}

}  // namespace baton
