// Pulse: "something changed, look again". A sticky, coalescing notification for one waiting coroutine.
//
// notify() never blocks and may be called any number of times; the waiter wakes once and looks at the state itself.
// A notification that comes while nobody waits is kept, so none is lost between looking and waiting. Rank-local:
// owner's thread only. Outlives those who wait on it.
#pragma once

#include <string>

#include "runtime/suspend.h"
#include "runtime/task.h"

namespace baton {

namespace detail {

struct PulseWaiter : Waiter {
  using Waiter::Waiter;
  bool result() const noexcept { return end == WaitEnd::ready; }
};

}  // namespace detail

class Pulse final {
 public:
  Pulse(Context& context, std::string name);
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;
  ~Pulse();

  void notify() noexcept;

  // co_await wait_until(time, priority): true once notified, which it consumes; false when the time is reached, or when
  // cancelled (then the next co_await throws). A notification already there wins over a time already reached.
  // Priority orders events of one instant as in sleep_until.
  auto wait_until(TimePoint time, unsigned priority = 0) {
    return detail::suspend<void(bool), detail::PulseWaiter>(
        context_, [this, time, priority](detail::PulseWaiter& waiter) { begin_wait(waiter, time, priority); });
  }

  // co_await wait(): true once notified, which it consumes; false when cancelled. One waiter at a time.
  auto wait() { return wait_until(kNever); }

  bool notified() const noexcept { return notified_; }  // a notification nobody has consumed yet

 private:
  void begin_wait(detail::PulseWaiter& waiter, TimePoint time, unsigned priority);

  Context& context_;
  std::string name_;
  WaitList waiters_;
  bool notified_ = false;
};

}  // namespace baton
