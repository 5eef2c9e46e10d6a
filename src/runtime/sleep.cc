#include "runtime/sleep.h"

#include <algorithm>

namespace baton::detail {

void begin_sleep(Context& context, SleepWaiter& waiter, TimePoint time, unsigned priority) {
  const TimePoint now = context.now();
  if (time <= now && priority == 0) {
    context.end_wait(waiter, WaitEnd::timed_out);
    return;
  }
  context.park(waiter, "sleep", nullptr);
  if (time != kNever) {
    context.arm(waiter, std::max(time, now), priority);
  }
}

}  // namespace baton::detail
