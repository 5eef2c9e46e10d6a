#include "sim/chaos/chaos_engine.h"

#include <utility>

#include "runtime/errors.h"
#include "runtime/sleep.h"

namespace baton::chaos {
namespace {

constexpr Duration kSlowStep = std::chrono::milliseconds(8);

}  // namespace

Task<StepOutput> ChaosEngine::step(StepBatch batch) {
  const Ledger::StepPages pages = ledger_.step_begins(rank_, batch);
  if (slow_ > 0) {
    co_await sleep_until(context_, context_.now() + kSlowStep);
  }
  if (failing_ > 0) {
    throw Error(Errc::internal, "the device failed, as the scenario says");
  }
  Task<StepOutput> pending = inner().step(std::move(batch));
  StepOutput output = co_await std::move(pending);
  ledger_.step_ends(rank_, pages);
  co_return output;
}

}  // namespace baton::chaos
