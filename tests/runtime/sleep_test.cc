#include "runtime/sleep.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "runtime/scope.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using std::chrono::milliseconds;

// When, which priority, in which order it went to sleep.
using Key = std::tuple<std::int64_t, unsigned, int>;

Task<> sleeper(Context& context, Key key, std::vector<Key>& woken) {
  const bool slept = co_await sleep_until(context, TimePoint(Duration(std::get<0>(key))), std::get<1>(key));
  if (slept) {
    CHECK(context.now() == TimePoint(Duration(std::get<0>(key))));
    woken.push_back(key);
  }
}

}  // namespace

TEST_CASE("sleep_until: sleepers wake by time, then priority, then order of going to sleep, whatever is cancelled") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimContext context;
    Random random(seed);
    std::vector<Key> woken;
    std::vector<Key> expected;
    std::vector<TaskHandle> handles;
    std::vector<Key> keys;
    Scope scope(context, "all");
    for (int i = 0; i < 300; ++i) {
      keys.emplace_back(1 + random.uniform(40), random.uniform(4), i);
      handles.push_back(scope.spawn("sleeper", sleeper(context, keys.back(), woken)));
    }
    context.run_until(TimePoint{});  // all are asleep
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (random.chance(0.3)) {
        handles[i].cancel();
      } else {
        expected.push_back(keys[i]);
      }
    }
    context.run();
    std::sort(expected.begin(), expected.end());
    CHECK(woken == expected);
    CHECK(scope.live() == 0);
  }
}

TEST_CASE("sleep_until: the past does not turn the clock back and kNever sleeps until the cancel") {
  SimContext context;
  context.run_until(TimePoint(milliseconds(5)));
  auto sleep_in_the_past = [&]() -> Task<bool> { co_return co_await sleep_until(context, TimePoint(milliseconds(1))); };
  CHECK(test::run(context, sleep_in_the_past()));
  CHECK(context.now() == TimePoint(milliseconds(5)));

  bool slept = true;
  auto sleep_forever = [&]() -> Task<> { slept = co_await sleep_until(context, kNever); };
  Scope scope(context, "all");
  TaskHandle handle = scope.spawn("forever", sleep_forever());
  context.run();
  CHECK(context.deadlocked());
  handle.cancel();
  context.run();
  CHECK_FALSE(slept);
  CHECK(scope.live() == 0);
}

TEST_CASE("sleep_until: everything an event makes runnable runs before the next sleeper of the same instant") {
  SimContext context;
  std::vector<std::string> log;
  auto chatter = [&](std::string name) -> Task<> {
    co_await sleep_until(context, TimePoint(milliseconds(1)));
    log.push_back(name);
    co_await yield(context);
    log.push_back(name);
  };
  Scope scope(context, "all");
  scope.spawn("a", chatter("a"));
  scope.spawn("b", chatter("b"));
  context.run();
  CHECK(log == std::vector<std::string>{"a", "a", "b", "b"});
}

}  // namespace baton
