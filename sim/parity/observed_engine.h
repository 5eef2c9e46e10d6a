// Any engine, but what goes into its steps is noted, and a step ends when a gate lets it.
//
// It takes no rounds: a step is a decision each.
#pragma once

#include <memory>
#include <utility>

#include "sim/parity/decision_log.h"
#include "sim/parity/gate.h"
#include "sim/wrapped_engine.h"

namespace baton::sim {

class ObservedEngine final : public WrappedEngine {
 public:
  // The log and the gate outlive the engine.
  ObservedEngine(RankId rank, std::unique_ptr<Engine> inner, DecisionLog& log, Gate& gate)
      : WrappedEngine(std::move(inner)), rank_(rank), log_(log), gate_(gate) {}

  Task<StepOutput> step(StepBatch batch) override;

 private:
  RankId rank_;
  DecisionLog& log_;
  Gate& gate_;
};

}  // namespace baton::sim
