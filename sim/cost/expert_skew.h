// How unevenly experts are loaded: the load of the most loaded GPU of a group over the mean.
#pragma once

#include <cstdint>

namespace baton::sim {

// Loads of experts after a power law, as AIConfigurator draws them for its tables (ai-dynamo/aiconfigurator):
// x = [(m^(1-a) - 1) u + 1]^(1/(1-a)) for u uniform in (0, 1), m = 0.8 * tokens of the group.
struct PowerLaw {
  double alpha =
      1.01;  // larger: a few experts take nearly all. 1.01 is their value for DeepSeek-V3, 1.2 for Qwen3-235B
  std::uint32_t experts = 0;
  std::uint32_t gpus = 1;          // that share the experts evenly
  std::uint64_t group_tokens = 0;  // of one step, at least one
};

// The mean over many seeded draws of max / mean, experts laid out at random; the same in every run.
double power_law_skew(const PowerLaw& law);

// Experts of a group of `experts`, `active` of them per token, that `tokens` tokens reach if all are equally likely:
// E (1 - (1 - e/E)^T).
double expected_experts(std::uint32_t experts, std::uint32_t active, double tokens);

}  // namespace baton::sim
