// A client that gives up: for tests of aborts at every moment.
#pragma once

#include <memory>
#include <utility>

#include "tests/support/toy_world.h"

namespace baton::test {

// One client that gives up after `patience`; the outcome is kept if it was faster.
inline Task<> impatient(SimWorld& world, GenerationRequest request, Duration delay, Duration patience,
                        bool by_destruction, Outcome& outcome) {
  co_await sleep_until(world.context, add_saturating(world.context.now(), delay));
  std::unique_ptr<Generation> generation = world.node->router().start(std::move(request));
  Generation* raw = generation.get();
  Scope scope(world.context, "watch");
  const TimePoint until = add_saturating(world.context.now(), patience);
  if (by_destruction) {
    co_await sleep_until(world.context, until);
    generation.reset();
    co_return;
  }
  const auto give_up = [](SimWorld& w, Generation* g, TimePoint time) -> Task<> {
    const bool slept = co_await sleep_until(w.context, time);
    if (slept) {
      g->abort();
    }
  };
  const auto collect = [](SimWorld& w, std::unique_ptr<Generation> g, Outcome& into, TaskHandle timer) -> Task<> {
    Task<Outcome> pending = w.collect(std::move(g));
    into = co_await std::move(pending);
    timer.cancel();
  };
  TaskHandle timer = scope.spawn("give up", give_up(world, raw, until));
  scope.spawn("collect", collect(world, std::move(generation), outcome, timer));
  co_await scope.join();
}

}  // namespace baton::test
