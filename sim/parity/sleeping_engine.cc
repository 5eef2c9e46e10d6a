#include "sim/parity/sleeping_engine.h"

#include "roles/request_log_record.h"
#include "runtime/sleep.h"

namespace baton::sim {

void Lateness::add(Duration late) {
  const std::lock_guard lock(mutex_);
  samples_.add(milliseconds_of(late));
}

SampleSet Lateness::milliseconds() const {
  const std::lock_guard lock(mutex_);
  return samples_;
}

Task<StepOutput> SleepingEngine::step(StepBatch batch) {
  Context& context = *Context::current();
  const auto cost = static_cast<double>(model_->cost(load_of(batch)).total.count());
  const TimePoint end = context.now() + Duration(static_cast<std::int64_t>(cost / speed_));
  co_await sleep_until(context, end);
  lateness_.add(context.now() - end);
  co_return sampled_where_asked(batch, {});
}

}  // namespace baton::sim
