#include "runtime/pulse.h"

#include <algorithm>
#include <utility>

namespace baton {

Pulse::Pulse(Context& context, std::string name) : context_(context), name_(std::move(name)) {}

Pulse::~Pulse() {
  Context::place_ends(context_, waiters_, name_);
}

void Pulse::notify() noexcept {
  if (Waiter* waiter = waiters_.front()) {
    context_.end_wait(*waiter, WaitEnd::ready);
    return;
  }
  notified_ = true;
}

void Pulse::begin_wait(detail::PulseWaiter& waiter, TimePoint time, unsigned priority) {
  BATON_CHECK(waiters_.empty(), name_);
  if (std::exchange(notified_, false)) {
    context_.end_wait(waiter, WaitEnd::ready);
    return;
  }
  const TimePoint now = context_.now();
  if (time <= now && priority == 0) {
    context_.end_wait(waiter, WaitEnd::timed_out);
    return;
  }
  context_.park(waiter, "wait for pulse", &name_);
  waiters_.push_back(waiter);
  if (time != kNever) {
    context_.arm(waiter, std::max(time, now), priority);
  }
}

}  // namespace baton
