#include "sim/timed_engine.h"

#include <utility>

#include "runtime/sleep.h"

namespace baton {

Duration StepCost::of(const StepBatch& batch) const {
  Duration cost = base;
  for (const StepSequence& sequence : batch.sequences) {
    cost += row * static_cast<std::int64_t>(sequence.tokens.size());
  }
  return cost;
}

Task<StepOutput> TimedEngine::step(StepBatch batch) {
  const Duration half = cost_.of(batch) / 2;
  co_await sleep_until(context_, context_.now() + half);
  Task<StepOutput> pending = inner().step(std::move(batch));
  StepOutput output = co_await std::move(pending);
  co_await sleep_until(context_, context_.now() + half);
  co_return output;
}

}  // namespace baton
