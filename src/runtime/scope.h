// Scope: owns coroutines. Children run until they end, fail or are cancelled, and cannot outlive their Scope.
//
// The only place that starts coroutines. The first child that fails cancels its siblings, and join() throws its error;
// a child that ends because it was cancelled is no failure. A frame that holds a Scope awaits nothing between its first
// spawn() and join(), since a cancel would throw it past join(); when it must, it uses in_scope. Owner's thread only.
#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "runtime/pulse.h"
#include "runtime/task.h"

namespace baton {

namespace detail {
struct Child;
class ChildEnd;
}  // namespace detail

// One spawned coroutine, to cancel it alone. A value; does not keep the coroutine alive and may outlive it.
class TaskHandle final {
 public:
  TaskHandle() = default;  // names nothing: done

  // Ends the wait the coroutine is in; it gets an exception at its next co_await. Nothing happens if it has ended. May
  // be called from the coroutine itself. Owner's thread.
  void cancel() noexcept;
  bool done() const noexcept;

 private:
  friend class Scope;
  explicit TaskHandle(std::shared_ptr<detail::Child> child) noexcept : child_(std::move(child)) {}
  std::shared_ptr<detail::Child> child_;
};

class Scope final {
 public:
  // The name is the prefix of its children's in reports: "decode/0" and "steps" make "decode/0.steps".
  Scope(Context& context, std::string name);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // All children have ended, and an error of theirs has been seen by join() or rethrow_error(); else a check fails.
  ~Scope();

  // Starts a child; it first runs when its turn in the run queue comes. After cancel() or a failure the task is
  // destroyed without having run. References the task holds must outlive this Scope.
  TaskHandle spawn(std::string name, Task<> task);

  // Cancels all children, now and forever: later spawns do not run. Idempotent.
  void cancel() noexcept;

  // Completes when no child is left. Throws the first error of a child; else, if the caller was cancelled meanwhile,
  // which cancels the children, operation_aborted. One caller at a time.
  Task<> join();

  std::size_t live() const noexcept { return children_.size(); }
  bool cancelled() const noexcept { return cancelled_; }

  // For owners that are no coroutines: throws the first error of a child, if there is one that nobody has seen.
  void rethrow_error();

 private:
  friend class detail::ChildEnd;
  friend class TaskHandle;
  using Children = std::list<std::shared_ptr<detail::Child>>;

  void child_ended(detail::Child& child, std::exception_ptr error) noexcept;

  Context& context_;
  std::string name_;
  Children children_;
  std::exception_ptr error_;
  Pulse ended_;
  bool cancelled_ = false;
};

// Runs body(scope) as the first child of a new Scope and joins it: the way to spawn helpers and await other things too.
// Throws what join() throws. The body may be a lambda that captures by reference; it lives until all children ended.
template <class Body>
Task<> in_scope(Context& context, std::string name, Body body) {
  Scope scope(context, std::move(name));
  scope.spawn("body", body(scope));
  co_await scope.join();
}

}  // namespace baton
