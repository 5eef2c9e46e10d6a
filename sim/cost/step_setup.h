// Everything the cost of a step depends on besides its load: model, hardware, formats, parallelism, and the few
// constants a user may calibrate.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/time.h"
#include "sim/cost/hardware_spec.h"
#include "sim/cost/model_spec.h"
#include "sim/cost/precision.h"

namespace baton::sim {

// A rank is tp x pp GPUs that serve one batch. `dp` ranks form a group: each keeps its own requests and attention, and
// all step together because they share the experts (attention data parallelism). The experts of a group are spread over
// ep GPUs; where ep is less than tp x dp, each expert is split over tp x dp / ep of them.
struct Parallel {
  std::uint32_t tp = 1;
  std::uint32_t pp = 1;
  std::uint32_t ep = 1;
  std::uint32_t dp = 1;

  std::uint32_t rank_gpus() const noexcept { return tp * pp; }
  std::uint32_t stage_gpus() const noexcept { return tp * dp; }  // of one pipeline stage of a group

  bool operator==(const Parallel&) const = default;
};

// Drafts verified in one step. How many of them hold is drawn elsewhere, by `acceptance`; here they only cost.
struct Speculation {
  std::uint32_t drafts = 0;        // 0: none
  std::vector<double> acceptance;  // [i]: chance that draft i holds, given that those before it did
  double draft_layers = 1;         // layers of the model that one draft costs (1: an MTP layer)

  // Tokens a verification yields on average, the one it always does included.
  double tokens_per_step() const noexcept {
    double held = 1;
    double tokens = 1;
    for (const double chance : acceptance) {
      held *= chance;
      tokens += held;
    }
    return tokens;
  }

  bool operator==(const Speculation&) const = default;
};

// How the experts' all-to-all moves tokens: in bulk, or by many small messages that start at once.
enum class AllToAll : std::uint8_t { normal, low_latency };

struct StepSetup {
  ModelSpec model;
  HardwareSpec hardware;
  Precision precision;
  Parallel parallel;
  AllToAll all_to_all = AllToAll::normal;  // normal where prompts are computed, low_latency where decode is

  double expert_skew = 1;  // load of the most loaded GPU over the mean: of its experts and its links
  // All-to-all within a step over its time alone: shared links, waiting. A bulk one reaches its time alone where
  // nothing computes beside it (LMSYS blog, 5 May 2025, on prefill without overlap).
  double wire_slowdown = 1;
  std::uint32_t redundant_experts = 0;       // further copies of experts, over the whole group
  bool two_batch_overlap = false;            // one half computes while the other's tokens travel
  double overlap_efficiency = 1;             // 1: as much is hidden as can be; 0: nothing
  Duration host_overhead{};                  // of each step, where the host does not work ahead
  Duration layer_gap{};                      // between layers: launches, waits for the slowest rank
  std::vector<std::uint32_t> graph_batches;  // captured decode batches, ascending: others are padded to the next
  Speculation speculation;
};

// Throws Error(invalid_argument), naming the numbers, for a combination that cannot be: heads that do not divide by tp,
// more stages than layers, experts that ep does not divide, groups of a model without experts.
void check_setup(const StepSetup& setup);

}  // namespace baton::sim
