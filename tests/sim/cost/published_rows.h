// DeepSeek-V3 on H100 as SGLang's 96-GPU report measured it (LMSYS blog, 5 May 2025): set-ups and published times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cost/step_model.h"

namespace baton::sim {

// What in-situ running adds to kernels measured alone. The three constants the rows may be fitted with.
struct Calibration {
  double expert_skew = 1;
  double wire_slowdown = 1;
  double overlap_efficiency = 1;
};

struct PublishedRow {
  const char* name;
  bool prefill;             // 4 nodes, EP32, 16,384 tokens per GPU; else 9 nodes, EP72
  std::uint32_t sequences;  // per GPU
  std::uint32_t tokens;     // of each prompt, or of the context
  std::uint32_t rows = 1;   // of a decoding sequence: 2 where one draft is verified
  bool two_batch_overlap = true;
  bool balanced = false;  // experts were forced to equal loads
  double ms = 0;          // of one step or pass, from tokens per second and node
};

inline StepSetup setup_of(const PublishedRow& row, const Calibration& calibration) {
  StepSetup setup;
  setup.model = load_model("deepseek-v3");
  setup.hardware = load_hardware("h100");
  setup.precision = {Dtype::fp8_block, Dtype::fp8_block, Dtype::bf16};
  const std::uint32_t gpus = row.prefill ? 32 : 72;
  setup.parallel = {.tp = 1, .pp = 1, .ep = gpus, .dp = gpus};
  setup.all_to_all = row.prefill ? AllToAll::normal : AllToAll::low_latency;
  setup.redundant_experts = 32;
  setup.two_batch_overlap = row.two_batch_overlap;
  setup.expert_skew = row.balanced ? 1 : calibration.expert_skew;
  setup.wire_slowdown = calibration.wire_slowdown;
  setup.overlap_efficiency = calibration.overlap_efficiency;
  if (row.rows == 2) {
    setup.speculation = {1, {0.6}, 1};
  }
  return setup;
}

inline double step_ms(const CostModel& model, const PublishedRow& row) {
  StepLoad load;
  for (std::uint32_t i = 0; i < row.sequences; ++i) {
    if (row.prefill) {
      load.add_prefill(row.tokens, 0, true);
    } else {
      load.add_decode(row.tokens, row.rows);
    }
  }
  const std::vector<StepLoad> group(row.prefill ? 32 : 72, load);
  return 1e3 * seconds(model.group_cost(group).total);
}

}  // namespace baton::sim
