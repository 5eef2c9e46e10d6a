#include "sim/calibrate/logged_engine.h"

#include "runtime/context.h"
#include "sim/cluster/cost_engine.h"

namespace baton::sim {

Task<StepOutput> LoggedEngine::step(StepBatch batch) {
  LoggedStep logged;
  logged.rank = rank_;
  logged.load = load_of(batch);
  Context& context = *Context::current();
  const TimePoint began = context.now();
  Task<StepOutput> pending = inner().step(std::move(batch));
  StepOutput output = co_await std::move(pending);
  logged.begin_s = seconds(began - epoch_);
  logged.seconds = seconds(context.now() - began);
  log_.write(logged);
  co_return output;
}

}  // namespace baton::sim
