#include "runtime/scope.h"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/mailbox.h"
#include "runtime/on.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "tests/support/run.h"

namespace baton {
namespace {

Task<int> producer_and_consumer(Context& context) {
  Channel<std::unique_ptr<int>> channel(context, "numbers", 2);
  int sum = 0;
  auto produce = [&]() -> Task<> {
    for (int i = 1; i <= 10; ++i) {
      co_await sleep_for(context, std::chrono::milliseconds(1));
      auto item = std::make_unique<int>(i);
      co_await channel.send(std::move(item));
    }
    channel.close();
  };
  auto consume = [&]() -> Task<> {
    while (auto item = co_await channel.recv()) {
      sum += **item;
    }
  };
  Scope scope(context, "pair");
  scope.spawn("produce", produce());
  scope.spawn("consume", consume());
  co_await scope.join();
  co_return sum;
}

}  // namespace

TEST_CASE("Scope: children run in virtual time and join waits for all of them") {
  SimContext context;
  CHECK(test::run(context, producer_and_consumer(context)) == 55);
  CHECK(context.now() == TimePoint(std::chrono::milliseconds(10)));
  CHECK(context.live() == 0);
}

}  // namespace baton
