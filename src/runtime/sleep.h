// sleep_until: the only way to let time pass. yield: lets the others run first.
#pragma once

#include "runtime/suspend.h"
#include "runtime/task.h"

namespace baton {

namespace detail {

struct SleepWaiter : Waiter {
  using Waiter::Waiter;
  bool result() const noexcept { return end != WaitEnd::cancelled; }
};

void begin_sleep(Context& context, SleepWaiter& waiter, TimePoint time, unsigned priority);

}  // namespace detail

// co_await sleep_until(context, time): true when the context's clock has reached the time, false when cancelled before.
// Among sleepers of one instant, smaller priority wakes first, then who slept first; with a priority above 0 a sleep
// until a time already reached still lets everything runnable of this instant go first. priority < 65536.
inline auto sleep_until(Context& context, TimePoint time, unsigned priority = 0) {
  return detail::suspend<void(bool), detail::SleepWaiter>(context,
                                                          [&context, time, priority](detail::SleepWaiter& waiter) {
                                                            detail::begin_sleep(context, waiter, time, priority);
                                                          });
}

inline auto pause(Context& context, Duration duration) {
  return sleep_until(context, add_saturating(context.now(), duration));
}

// co_await yield(context): goes to the end of the run queue. Cannot be cancelled; returns true.
inline auto yield(Context& context) {
  return detail::suspend<void(bool), detail::SleepWaiter, detail::Cancel::ignored>(
      context, [&context](detail::SleepWaiter& waiter) { context.end_wait(waiter, WaitEnd::ready); });
}

}  // namespace baton
