#include "runtime/pulse.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using Log = std::vector<std::string>;

Task<> watch(Context& context, Pulse& pulse, Log& log) {
  for (;;) {
    const bool notified = co_await pulse.wait_until(context.now() + milliseconds(10));
    log.push_back((notified ? "notified " : "time ") +
                  std::to_string(context.now().time_since_epoch().count() / 1000000));
  }
}

}  // namespace

TEST_CASE("Pulse: notifications are kept while nobody waits and coalesce into one") {
  SimContext context;
  Pulse pulse(context, "pulse");
  pulse.notify();
  pulse.notify();
  int woken = 0;
  auto wait = [&]() -> Task<> {
    for (;;) {
      co_await pulse.wait();
      ++woken;
    }
  };
  Scope scope(context, "all");
  scope.spawn("wait", wait());
  context.run();
  CHECK(woken == 1);
  CHECK_FALSE(pulse.notified());
  pulse.notify();
  pulse.notify();  // the waiter is awake but has not run: kept for its next wait
  CHECK(pulse.notified());
  context.run();
  CHECK(woken == 3);
  scope.cancel();
  context.run();
}

TEST_CASE("Pulse: wait_until tells a notification from the time, and a cancel ends the coroutine") {
  SimContext context;
  Log log;
  Pulse pulse(context, "pulse");
  Scope scope(context, "all");
  scope.spawn("watch", watch(context, pulse, log));
  context.run_until(TimePoint(milliseconds(14)));
  pulse.notify();
  context.run_until(TimePoint(milliseconds(20)));
  CHECK(log == Log{"time 10", "notified 14"});
  scope.cancel();
  context.run();
  CHECK(log == Log{"time 10", "notified 14", "time 20"});  // woken by the cancel with false; the next await threw
  CHECK(scope.live() == 0);
}

TEST_CASE("Pulse: a notification already there wins over a time already reached") {
  SimContext context;
  Pulse pulse(context, "pulse");
  auto wait_twice = [&]() -> Task<> {
    pulse.notify();
    const bool first = co_await pulse.wait_until(context.now());
    const bool second = co_await pulse.wait_until(context.now());
    CHECK(first);
    CHECK_FALSE(second);
  };
  test::run(context, wait_twice());
}

TEST_CASE("Pulse: with a priority, a time already reached lets everything else of the instant go first") {
  SimContext context;
  Log log;
  Pulse pulse(context, "pulse");
  auto late = [&]() -> Task<> {
    co_await pulse.wait_until(context.now(), 7);
    log.push_back("late");
  };
  auto busy = [&]() -> Task<> {
    for (int i = 0; i < 3; ++i) {
      co_await yield(context);
      log.push_back("busy");
    }
  };
  Scope scope(context, "all");
  scope.spawn("late", late());
  scope.spawn("busy", busy());
  context.run();
  CHECK(log == Log{"busy", "busy", "busy", "late"});
}

}  // namespace baton
