// run(): drives one Task to its end, for tests. In virtual time it runs the world with it, and says who waits for what
// when nothing moves any more.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/real_context.h"
#include "runtime/scope.h"
#include "runtime/task.h"
#include "sim/sim_context.h"

namespace baton::test {

namespace detail {

template <class T>
Task<> keep(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

inline void drive(SimContext& context, Scope& scope) {
  try {
    while (scope.live() > 0 && context.step()) {
    }
  } catch (...) {
    context.destroy_coroutines();
    throw;
  }
  if (scope.live() > 0) {
    const std::string report = context.wait_report();
    context.destroy_coroutines();
    throw std::runtime_error("deadlock: " + report);
  }
}

// Other coroutines of the context must end by themselves: run() returns only then.
inline void drive(RealContext& context, Scope&) {
  context.stop();
  context.run();
}

template <class AnyContext>
void run(AnyContext& context, Task<> task) {
  Scope scope(context, "test");
  scope.spawn("main", std::move(task));
  drive(context, scope);
  scope.rethrow_error();
}

}  // namespace detail

// Runs until the task has ended, then returns its value or throws its exception; other coroutines of the context stay
// as they are then. A deadlock destroys all coroutines of the context and throws std::runtime_error with the report.
inline void run(SimContext& context, Task<> task) {
  detail::run(context, std::move(task));
}
inline void run(RealContext& context, Task<> task) {
  detail::run(context, std::move(task));
}

template <class AnyContext, class T>
  requires(!std::is_void_v<T>)
T run(AnyContext& context, Task<T> task) {
  std::optional<T> result;
  detail::run(context, detail::keep(std::move(task), result));
  return std::move(*result);
}

}  // namespace baton::test
