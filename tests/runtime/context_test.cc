#include "runtime/context.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/mailbox.h"
#include "runtime/on.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using Log = std::vector<std::string>;

struct Noted {
  explicit Noted(Log& log_in, std::string name_in) : log(log_in), name(std::move(name_in)) {}
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() { log.push_back("~" + name); }
  Log& log;
  std::string name;
};

// Refers to a place in its parent's frame until its very end.
Task<> child(Channel<int>& channel, Noted& parents, Log& log, std::string name) {
  const Noted noted(log, name + " of " + parents.name);
  while (auto item = co_await channel.recv()) {
  }
}

Task<> parent(Context& context, Log& log, int depth) {
  Noted noted(log, "parent " + std::to_string(depth));
  Channel<int> channel(context, "frame's own", 1);
  Scope scope(context, "parent" + std::to_string(depth));
  scope.spawn("a", child(channel, noted, log, "a"));
  if (depth > 0) {
    scope.spawn("nested", parent(context, log, depth - 1));
  }
  co_await scope.join();
}

}  // namespace

TEST_CASE("Context: destroying it destroys suspended coroutines, children before parents") {
  Log log;
  {
    SimContext context;
    Scope scope(context, "root");
    scope.spawn("parent", parent(context, log, 1));
    context.run();
    CHECK(context.deadlocked());
    CHECK(log.empty());
  }
  CHECK(log == Log{"~a of parent 0", "~parent 0", "~a of parent 1", "~parent 1"});
}

TEST_CASE("Context: coroutines that were about to run, sleep or start are destroyed with it") {
  Log log;
  auto sleep = [&](SimContext& context, std::string name) -> Task<> {
    const Noted noted(log, name);
    co_await sleep_until(context, kNever);
  };
  {
    SimContext context;
    Channel<int> channel(context, "channel", 1);
    Noted noted(log, "test");
    Scope scope(context, "root");
    scope.spawn("asleep", sleep(context, "asleep"));
    scope.spawn("woken", child(channel, noted, log, "woken"));
    context.run();
    CHECK(channel.try_send(1));  // woken, not yet resumed
    scope.spawn("unstarted", sleep(context, "unstarted"));
    context.post([note = std::make_unique<Noted>(log, "function")] { note->name = "never run"; });
    context.destroy_coroutines();
    CHECK(context.live() == 0);
    CHECK(scope.live() == 0);
    log.push_back("end");
  }
  CHECK(log == Log{"~function", "~woken of test", "~asleep", "end", "~test"});
}

TEST_CASE("Context: channels and pulses may be destroyed before or after their context") {
  Log log;
  std::unique_ptr<Channel<int>> outlives;
  {
    SimContext context;
    outlives = std::make_unique<Channel<int>>(context, "outlives", 1);
    Noted noted(log, "test");
    auto inner = std::make_unique<Channel<int>>(context, "inner", 1);
    Scope scope(context, "root");
    scope.spawn("a", child(*outlives, noted, log, "a"));
    scope.spawn("b", child(*inner, noted, log, "b"));
    context.run();
    inner.reset();  // somebody waits in it and never can go on: all coroutines end
    CHECK(context.live() == 0);
  }
  CHECK(log == Log{"~b of test", "~a of test", "~test"});
}

TEST_CASE("Context: a completion may come home after its coroutine, or its context, is gone") {
  Log log;
  Completion<std::string> early;
  Completion<std::string> late;
  {
    SimContext context;
    auto wait = [&](Completion<std::string>& completion, std::string name) -> Task<> {
      const Noted noted(log, name);
      auto start = [&](Completion<std::string> given) { completion = std::move(given); };
      co_await complete_elsewhere<std::string>(context, start);
    };
    Scope scope(context, "root");
    scope.spawn("early", wait(early, "early"));
    scope.spawn("late", wait(late, "late"));
    while (!late && context.step()) {
    }
    CHECK_FALSE(context.deadlocked());
    CHECK(context.wait_report().find("root.early: wait for 'another thread'") != std::string::npos);
    context.destroy_coroutines();
    CHECK(log == Log{"~late", "~early"});
    early("too late for the coroutine");
    context.step();
  }
  late("too late for the context");
  CHECK_FALSE(late);
}

TEST_CASE("Context: posted functions run in order, never at once") {
  SimContext context;
  Log log;
  context.post([&] {
    context.post([&] { log.push_back("third"); });
    log.push_back("first");
  });
  context.post([&] { log.push_back("second"); });
  CHECK(log.empty());
  context.run();
  CHECK(log == Log{"first", "second", "third"});
}

TEST_CASE("Context: a context can run inside another one's turn") {
  SimContext outer;
  TimePoint inner_end;
  outer.post([&] {
    SimContext inner;
    auto sleep = [&]() -> Task<> { co_await pause(inner, std::chrono::seconds(1)); };
    test::run(inner, sleep());
    inner_end = inner.now();
    CHECK(outer.running_here());
    CHECK_FALSE(inner.running_here());
  });
  outer.run();
  CHECK(inner_end == TimePoint(std::chrono::seconds(1)));
  CHECK_FALSE(outer.running_here());
}

}  // namespace baton
