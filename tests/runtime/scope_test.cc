#include "runtime/scope.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using Log = std::vector<std::string>;

struct Noted {
  explicit Noted(Log& log_in, std::string name_in) : log(log_in), name(std::move(name_in)) {}
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() { log.push_back("~" + name); }
  Log& log;
  std::string name;
};

Task<> sleeper(Context& context, Log& log, std::string name, milliseconds duration) {
  const Noted noted(log, name);
  co_await pause(context, duration);
  co_await yield(context);  // throws if the sleep was cancelled
  log.push_back(name + " done");
}

Task<> bomb(Context& context, milliseconds duration) {
  co_await pause(context, duration);
  throw std::runtime_error("bomb");
}

Task<> join_all(Scope& scope) {
  co_await scope.join();
}

}  // namespace

TEST_CASE("Scope: spawn never runs the child inside the caller") {
  SimContext context;
  Log log;
  auto parent = [&]() -> Task<> {
    Scope scope(context, "parent");
    scope.spawn("child", sleeper(context, log, "child", milliseconds(0)));
    CHECK(log.empty());
    CHECK(scope.live() == 1);
    co_await scope.join();
  };
  test::run(context, parent());
  CHECK(log == Log{"child done", "~child"});
  CHECK(context.live() == 0);
}

TEST_CASE("Scope: the first error cancels the siblings and is thrown by join when all have ended") {
  SimContext context;
  Log log;
  auto parent = [&]() -> Task<> {
    Scope scope(context, "parent");
    scope.spawn("a", sleeper(context, log, "a", milliseconds(1)));
    scope.spawn("b", sleeper(context, log, "b", milliseconds(1000)));
    scope.spawn("bomb", bomb(context, milliseconds(10)));
    scope.spawn("later bomb", bomb(context, milliseconds(20)));
    co_await scope.join();
  };
  CHECK_THROWS_WITH_AS(test::run(context, parent()), "bomb", std::runtime_error);
  CHECK(log == Log{"a done", "~a", "~b"});
  CHECK(context.now() == TimePoint(milliseconds(10)));
  CHECK(context.live() == 0);
}

TEST_CASE("Scope: cancelling the coroutine that joins cancels its children and throws operation_aborted") {
  SimContext context;
  Log log;
  auto parent = [&]() -> Task<> {
    const Noted noted(log, "parent");
    Scope scope(context, "inner");
    scope.spawn("a", sleeper(context, log, "a", milliseconds(1000)));
    co_await scope.join();
    log.push_back("not reached");
  };
  Scope outer(context, "outer");
  TaskHandle handle = outer.spawn("parent", parent());
  context.run_until(TimePoint(milliseconds(5)));
  handle.cancel();
  handle.cancel();
  context.run();
  CHECK(log == Log{"~a", "~parent"});
  CHECK(handle.done());
  CHECK(context.now() == TimePoint(milliseconds(5)));
}

TEST_CASE("Scope: a child cancelled before its turn never runs, and later spawns only destroy the task") {
  SimContext context;
  Log log;
  Scope scope(context, "all");
  scope.spawn("a", sleeper(context, log, "a", milliseconds(1)));
  scope.cancel();
  const TaskHandle late = scope.spawn("b", sleeper(context, log, "b", milliseconds(1)));
  CHECK(late.done());
  CHECK(scope.live() == 1);
  context.run();
  CHECK(scope.live() == 0);
  CHECK(log.empty());
}

TEST_CASE("Scope: a child may cancel its own scope and end without another await") {
  SimContext context;
  Log log;
  auto parent = [&]() -> Task<> {
    Scope scope(context, "all");
    auto suicidal = [&]() -> Task<> {
      scope.cancel();
      co_return;
    };
    scope.spawn("a", sleeper(context, log, "a", milliseconds(1000)));
    scope.spawn("suicidal", suicidal());
    co_await scope.join();
  };
  test::run(context, parent());
  CHECK(log == Log{"~a"});
}

TEST_CASE("Scope: a child that must clean up finishes with cancellation disabled, and join waits for it") {
  SimContext context;
  Log log;
  auto stubborn = [&]() -> Task<> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await sleep_until(context, kNever);
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await pause(context, milliseconds(7));
    log.push_back("cleaned up");
  };
  Scope scope(context, "all");
  scope.spawn("stubborn", stubborn());
  context.run();
  scope.cancel();
  test::run(context, join_all(scope));
  CHECK(log == Log{"cleaned up"});
  CHECK(context.now() == TimePoint(milliseconds(7)));
}

TEST_CASE("Scope: one child is cancelled alone, and its being cancelled is no failure") {
  SimContext context;
  Log log;
  Scope scope(context, "all");
  TaskHandle first = scope.spawn("a", sleeper(context, log, "a", milliseconds(10)));
  scope.spawn("b", sleeper(context, log, "b", milliseconds(20)));
  context.run_until(TimePoint(milliseconds(5)));
  CHECK_FALSE(first.done());
  first.cancel();
  context.run();
  CHECK(log == Log{"~a", "b done", "~b"});
  CHECK_FALSE(scope.cancelled());
  scope.rethrow_error();
}

TEST_CASE("Scope: an operation_aborted that nobody asked for is a failure like any other") {
  SimContext context;
  auto parent = [&]() -> Task<> {
    Scope scope(context, "all");
    auto fail = []() -> Task<> {
      throw boost::system::system_error(asio::error::operation_aborted);
      co_return;
    };
    scope.spawn("fail", fail());
    co_await scope.join();
  };
  CHECK_THROWS_AS(test::run(context, parent()), boost::system::system_error);
}

TEST_CASE("in_scope: the body may await other things, and a cancel still joins its helpers") {
  SimContext context;
  Log log;
  auto parent = [&]() -> Task<> {
    auto body = [&](Scope& scope) -> Task<> {
      scope.spawn("helper", sleeper(context, log, "helper", milliseconds(1000)));
      co_await pause(context, milliseconds(500));
      co_await yield(context);
      log.push_back("body done");
    };
    co_await in_scope(context, "work", body);
  };
  Scope outer(context, "outer");
  TaskHandle handle = outer.spawn("parent", parent());
  context.run_until(TimePoint(milliseconds(5)));
  handle.cancel();
  context.run();
  CHECK(log == Log{"~helper"});
  CHECK(handle.done());

  log.clear();
  test::run(context, parent());
  CHECK(log == Log{"body done", "helper done", "~helper"});
}

TEST_CASE("run: a deadlock is reported with who waits for what and since when") {
  SimContext context;
  Channel<int> channel(context, "decode/0.prealloc", 1);
  Pulse pulse(context, "decode/0.wake");
  auto parent = [&]() -> Task<> {
    Scope scope(context, "decode/0");
    auto receive = [&]() -> Task<> {
      co_await pause(context, milliseconds(3));
      co_await channel.recv();
    };
    auto wait = [&]() -> Task<> { co_await pulse.wait(); };
    scope.spawn("admit", receive());
    scope.spawn("steps", wait());
    co_await scope.join();
  };
  std::string report;
  try {
    test::run(context, parent());
  } catch (const std::runtime_error& error) {
    report = error.what();
  }
  CHECK(report ==
        "deadlock: 3 coroutines live, 3 waiting at 0.003000000 s\n"
        "  test.main: wait for pulse 'decode/0 children', since 0.000000000 s\n"
        "  decode/0.admit: recv from 'decode/0.prealloc', since 0.003000000 s\n"
        "  decode/0.steps: wait for pulse 'decode/0.wake', since 0.000000000 s\n");
  CHECK(context.live() == 0);
}

}  // namespace baton
