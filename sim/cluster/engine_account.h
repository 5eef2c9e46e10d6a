// What the engine of one simulated rank has done so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/time.h"
#include "sim/cost/cost_model.h"

namespace baton::sim {

struct EngineAccount {
  Duration busy{};  // stages counted once: with pipeline stages the time in which the first one could not start a step
  std::uint64_t steps = 0;
  std::uint64_t prefill_tokens = 0;  // rows of prompts
  std::uint64_t decode_tokens = 0;   // rows of running sequences
  std::array<Duration, kCostLayers> by_layer{};
  Duration extrapolated{};
  Duration communication{};
  Duration last_step{};       // its last whole step
  std::uint32_t in_step = 0;  // sequences of the step under way

  void add(const StepLoad& load, const StepCost& cost) noexcept {
    last_step = cost.total;
    busy += cost.stage;
    steps += 1;
    prefill_tokens += load.prefill_tokens;
    decode_tokens += load.decode_tokens;
    for (std::size_t i = 0; i < kCostLayers; ++i) {
      by_layer[i] += cost.by_layer[i];
    }
    extrapolated += cost.extrapolated;
    communication += cost.communication;
  }
};

}  // namespace baton::sim
