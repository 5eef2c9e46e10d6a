// Several contexts on one virtual clock: one order of events, and one that dies or stands still leaves the others
// alone.
#include "sim/sim_clock.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/mailbox.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"

using namespace baton;

namespace {

using std::chrono::milliseconds;

void spawn(SimContext& context, Scope& scope, Task<> task) {
  const Context::Inside inside(context);
  scope.spawn("task", std::move(task));
}

void run(SimClock& clock) {
  while (clock.step()) {
  }
}

// Two contexts on one clock, a scope each, and a log of who woke when.
struct Pair {
  SimClock clock;
  SimContext first{clock, "first"};
  SimContext second{clock, "second"};
  Scope a{first, "a"};
  Scope b{second, "b"};
  std::vector<std::string> log;

  // Wakes so often and writes the milliseconds down.
  void tick(SimContext& context, Duration every, int times) {
    const bool is_first = &context == &first;
    spawn(context, is_first ? a : b, tick_task(context, is_first ? "a" : "b", every, times));
  }

 private:
  Task<> tick_task(SimContext& context, std::string name, Duration every, int times) {
    for (int i = 0; i < times; ++i) {
      co_await sleep_until(context, context.now() + every);
      log.push_back(name + std::to_string((context.now() - TimePoint{}) / milliseconds(1)));
    }
  }
};

}  // namespace

TEST_CASE("SimClock: contexts share the time, and those of one instant go in the order of joining") {
  Pair pair;
  pair.tick(pair.second, milliseconds(2), 3);
  pair.tick(pair.first, milliseconds(3), 2);
  run(pair.clock);
  CHECK(pair.log == std::vector<std::string>{"b2", "a3", "b4", "a6", "b6"});
  CHECK_FALSE(pair.clock.deadlocked());
}

TEST_CASE("SimClock: a frozen context stands still and catches up after the thaw, the others go on") {
  Pair pair;
  pair.tick(pair.first, milliseconds(1), 2);
  pair.tick(pair.second, milliseconds(4), 2);
  pair.clock.run_until(TimePoint{});
  pair.first.freeze(true);
  pair.clock.run_until(TimePoint(milliseconds(6)));
  CHECK(pair.log == std::vector<std::string>{"b4"});
  pair.first.freeze(false);
  run(pair.clock);
  CHECK(pair.log == std::vector<std::string>{"b4", "a6", "a7", "b8"});
}

TEST_CASE("SimClock: what is sent to a frozen context is there after the thaw, in order") {
  SimClock clock;
  SimContext sender(clock, "sender");
  SimContext owner(clock, "owner");
  Mailbox<int> inbox(owner, "inbox");
  Scope scope(owner, "owner");
  std::vector<int> got;
  const auto read = [&]() -> Task<> {
    while (got.size() < 2) {
      got.push_back((co_await inbox.recv()).value_or(-1));
    }
  };
  spawn(owner, scope, read());
  clock.run_until(TimePoint{});
  owner.freeze(true);
  sender.post([&] {
    inbox.push(1);
    inbox.push(2);
  });
  run(clock);
  CHECK(got.empty());
  owner.freeze(false);
  run(clock);
  CHECK(got == std::vector<int>{1, 2});
}

TEST_CASE("SimClock: the coroutines of one context can be destroyed while the others go on") {
  Pair pair;
  pair.tick(pair.first, milliseconds(1), 100);
  pair.tick(pair.second, milliseconds(4), 1);
  pair.clock.run_until(TimePoint(milliseconds(2)));
  pair.first.destroy_coroutines();
  CHECK(pair.a.live() == 0);
  run(pair.clock);
  CHECK(pair.log == std::vector<std::string>{"a1", "a2", "b4"});
}

TEST_CASE("SimClock: when nobody can run and nobody sleeps it says who waits for what, and since when") {
  SimClock clock;
  SimContext first(clock, "first");
  SimContext second(clock, "second");
  Channel<int> left(first, "left", 1);
  Channel<int> right(second, "right", 1);
  {
    Scope a(first, "alice");
    Scope b(second, "bob");
    const auto wait = [](SimContext& context, Channel<int>& channel) -> Task<> {
      co_await sleep_until(context, TimePoint(milliseconds(5)));
      co_await channel.recv();
    };
    spawn(first, a, wait(first, left));
    spawn(second, b, wait(second, right));
    run(clock);
    CHECK(clock.deadlocked());
    const std::string report = clock.wait_report();
    CHECK(report.find("alice.task: recv from 'left', since 0.005000000 s") != std::string::npos);
    CHECK(report.find("bob.task: recv from 'right'") != std::string::npos);
    CAPTURE(report);
    first.destroy_coroutines();
    second.destroy_coroutines();
  }
  CHECK_FALSE(clock.deadlocked());
}
