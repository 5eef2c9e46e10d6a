// How long a step takes: one interface over measured tables, fitted and pure rooflines.
//
// A CostModel is one rank's (all GPUs of its tensor and pipeline parallel group together) of one pool. It is immutable
// once made, holds no cache that could change an answer, and may be asked from any thread. Doubles inside, whole
// nanoseconds outside; the same load has the same cost in every build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/time.h"
#include "sim/cost/step_load.h"

namespace baton::sim {

// Where a figure comes from, the most trustworthy first.
enum class CostLayer : std::uint8_t {
  measured,  // a table of measured times, interpolated
  fitted,    // a formula whose constants were fitted to measurements
  roofline,  // data sheet figures alone
};
inline constexpr std::size_t kCostLayers = 3;

const char* to_string(CostLayer layer) noexcept;

struct StepCost {
  Duration total{};                              // from the start of the step until its tokens are known
  Duration stage{};                              // until the rank can start its next step: shorter with pipeline stages
  std::array<Duration, kCostLayers> by_layer{};  // total, by the origin of its parts; sums to total
  Duration extrapolated{};                       // the part of total that lies outside a measured grid
  Duration communication{};                      // the part of total spent in collectives, waiting for them included

  bool operator==(const StepCost&) const = default;
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // One rank alone. An empty load costs what an idle member of a group contributes; a rank that has no group never
  // asks for it.
  virtual StepCost cost(const StepLoad& load) const = 0;

  // One rank alone, several steps in a row: the first has this load, and in each one after it every running sequence
  // is a token longer (StepLoad::grow_decode). What cost() says of each, to the nanosecond.
  virtual void round_costs(StepLoad load, std::span<StepCost> costs) const {
    for (StepCost& round : costs) {
      round = cost(load);
      load.grow_decode();
    }
  }

  // The ranks of one expert-parallel or attention-DP group step together: the slowest sets the time, ranks with an
  // empty load take part in the collectives. Needs one load per rank, at least one.
  virtual StepCost group_cost(std::span<const StepLoad> loads) const = 0;

  // Pipeline stages: as many steps can be under way at once, `stage` apart. 1 without pipeline parallelism.
  virtual std::uint32_t stages() const noexcept = 0;

  // For reports: lines of "name = value", the constants in use and where they come from.
  virtual std::string describe() const = 0;
};

}  // namespace baton::sim
