#include "sim/parity/observed_engine.h"

namespace baton::sim {

Task<StepOutput> ObservedEngine::step(StepBatch batch) {
  log_.step(rank_, batch);
  gate_.step_began(rank_);
  Task<StepOutput> pending = inner().step(std::move(batch));
  StepOutput output = co_await std::move(pending);
  co_await gate_.may_end_step(rank_);
  co_return output;
}

}  // namespace baton::sim
