// An engine that writes what each of its steps computed, and how long it took, to a step log.
#pragma once

#include <memory>
#include <utility>

#include "sim/calibrate/step_log.h"
#include "sim/wrapped_engine.h"

namespace baton::sim {

// Used on the contexts of ranks, whose clock it reads.
class LoggedEngine final : public WrappedEngine {
 public:
  // The log outlives the engine. `epoch`: what begin_s counts from.
  LoggedEngine(RankId rank, std::unique_ptr<Engine> inner, StepLogWriter& log, TimePoint epoch)
      : WrappedEngine(std::move(inner)), rank_(rank), log_(log), epoch_(epoch) {}

  Task<StepOutput> step(StepBatch batch) override;

 private:
  RankId rank_;
  StepLogWriter& log_;
  TimePoint epoch_;
};

}  // namespace baton::sim
