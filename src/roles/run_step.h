// One engine step with its failure as a value: a device that fails ends the rooms of that step, not the rank's loop.
#pragma once

#include <optional>
#include <utility>

#include "model/engine/engine.h"
#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/task.h"

namespace baton {

struct StepResult {
  StepOutput output;
  std::optional<Failure> failure;

  StepResult() = default;
  explicit StepResult(StepOutput output_in) : output(std::move(output_in)) {}
  explicit StepResult(Failure failure_in) : failure(std::move(failure_in)) {}
};

// Completes on the caller's context when the engine is done with every page of the batch.
Task<StepResult> run_step(Engine& engine, StepBatch batch, RankId rank);

// The failure of a sequence for which the engine could draw no token.
Failure no_token(RankId rank);

}  // namespace baton
