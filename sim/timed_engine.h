// Any engine, but every step also takes time on the context's clock: exact tokens of a real model in virtual time, with
// steps long enough for other things to happen meanwhile.
#pragma once

#include <memory>

#include "runtime/context.h"
#include "sim/wrapped_engine.h"

namespace baton {

struct StepCost {
  Duration base = std::chrono::microseconds(200);
  Duration row = std::chrono::microseconds(10);

  Duration of(const StepBatch& batch) const;
};

class TimedEngine final : public WrappedEngine {
 public:
  TimedEngine(Context& context, std::unique_ptr<Engine> inner, StepCost cost)
      : WrappedEngine(std::move(inner)), context_(context), cost_(cost) {}

  // Half of the time passes before the inner step, half after it. Cancelled in the first half, nothing is computed.
  Task<StepOutput> step(StepBatch batch) override;

 private:
  Context& context_;
  StepCost cost_;
};

}  // namespace baton
