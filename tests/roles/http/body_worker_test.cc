#include "roles/http/body_worker.h"

#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "tests/roles/http/gate.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using test::Gate;
using test::never_stopped;

Task<> note(BodyWorker& worker, int number, StopFlag stop, std::vector<int>& order) {
  std::function<int()> work = [number, &order] {
    order.push_back(number);
    return number;
  };
  const std::optional<int> result = co_await worker.run(std::move(work), std::move(stop));
  CHECK(result.value_or(number) == number);
  if (!result) {
    order.push_back(-number);
  }
}

Task<std::thread::id> thread_of_a_job(BodyWorker& worker) {
  std::function<std::thread::id()> work = [] { return std::this_thread::get_id(); };
  const auto id = co_await worker.run(std::move(work), never_stopped());
  REQUIRE(id);
  co_return *id;
}

}  // namespace

TEST_CASE("BodyWorker: work runs on its thread and comes home to the front's") {
  RealContext context;
  BodyWorker worker(context, 1);
  const auto ask = [&]() -> Task<> {
    const std::thread::id first = co_await thread_of_a_job(worker);
    const std::thread::id second = co_await thread_of_a_job(worker);
    CHECK(context.running_here());
    CHECK(first != std::this_thread::get_id());
    CHECK(first == second);
  };
  test::run(context, ask());
}

TEST_CASE("BodyWorker: jobs run in their order, and those stopped before they begin never do") {
  SimContext context;
  BodyWorker worker(context, 3);
  Gate gate(worker);
  std::vector<int> order;
  const StopFlag stopped = never_stopped();
  const auto ask = [&]() -> Task<> {
    Scope scope(context, "jobs");
    scope.spawn("gate", gate.hold());
    scope.spawn("one", note(worker, 1, never_stopped(), order));
    scope.spawn("two", note(worker, 2, stopped, order));
    scope.spawn("three", note(worker, 3, never_stopped(), order));
    const auto decide = [&]() -> Task<> {
      CHECK(worker.full());
      CHECK(order.empty());
      stopped->store(true);
      gate.open();
      co_return;
    };
    scope.spawn("decide", decide());
    co_await scope.join();
  };
  test::run(context, ask());
  CHECK(order == std::vector<int>{1, 3, -2});  // what did not run is learned on the front, after the others ran
  CHECK_FALSE(worker.full());
}

TEST_CASE("BodyWorker: what the work throws reaches the one who waits, and the thread goes on") {
  RealContext context;
  BodyWorker worker(context, 1);
  const auto ask = [&]() -> Task<> {
    std::function<int()> bad = []() -> int { throw std::runtime_error("no such luck"); };
    std::string said;
    try {
      co_await worker.run(std::move(bad), never_stopped());
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    CHECK(said == "no such luck");
    const std::thread::id id = co_await thread_of_a_job(worker);
    CHECK(id != std::this_thread::get_id());
  };
  test::run(context, ask());
}

TEST_CASE("BodyWorker: its end gives up what waits, waits for what runs, and wakes everybody") {
  SimContext context;
  auto worker = std::make_unique<BodyWorker>(context, 2);
  std::vector<int> order;
  const StopFlag second = never_stopped();
  std::latch begun{1};
  std::function<bool()> until_the_other_is_given_up = [second, &begun] {
    begun.count_down();
    while (!second->load()) {
      std::this_thread::yield();
    }
    return true;
  };
  bool finished = false;
  const auto first = [&]() -> Task<> {
    const auto result = co_await worker->run(std::move(until_the_other_is_given_up), never_stopped());
    finished = result.has_value();
  };
  const auto play = [&]() -> Task<> {
    Scope scope(context, "jobs");
    scope.spawn("first", first());
    scope.spawn("second", note(*worker, 2, second, order));
    const auto end = [&]() -> Task<> {
      begun.wait();
      worker.reset();
      co_return;
    };
    scope.spawn("end", end());
    co_await scope.join();
  };
  test::run(context, play());
  CHECK(finished);
  CHECK(order == std::vector<int>{-2});
}

}  // namespace baton
