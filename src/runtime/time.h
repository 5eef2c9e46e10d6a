// Time as baton sees it: nanoseconds on a clock that only a Context can read.
//
// RuntimeClock has no now() on purpose. A TimePoint comes from Context::now(): the steady clock of the machine in a
// RealContext, virtual time in a simulation. Inside one process the time points of all RealContexts compare.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace baton {

struct RuntimeClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<RuntimeClock, duration>;
  static constexpr bool is_steady = true;
};

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<RuntimeClock, Duration>;

// Later than every event: a wait until kNever has no deadline.
inline constexpr TimePoint kNever = TimePoint::max();

// For reports and metrics, which speak of seconds; never for deciding an order.
constexpr double seconds(Duration duration) noexcept {
  return static_cast<double>(duration.count()) * 1e-9;
}

// start + duration, but kNever where that lies beyond the end of time.
constexpr TimePoint add_saturating(TimePoint start, Duration duration) noexcept {
  return duration > Duration::zero() && start > kNever - duration ? kNever : start + duration;
}

}  // namespace baton
