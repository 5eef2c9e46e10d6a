#include "runtime/scope.h"

#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include "runtime/check.h"
#include "runtime/sleep.h"

namespace baton {

namespace detail {

// Shared by the Scope, the coroutine's outermost frame and handles: the cancellation signal must live as long as any
// frame that is connected to it.
struct Child : TaskInfo {
  Context* context = nullptr;
  Scope* scope = nullptr;  // null once ended
  std::list<std::shared_ptr<Child>>::iterator place;
  asio::cancellation_signal signal;
  bool cancelled = false;
};

// co_spawn's completion handler. Destroyed uncalled when the coroutine is destroyed before its end.
class ChildEnd final {
 public:
  explicit ChildEnd(std::shared_ptr<Child> child) noexcept : child_(std::move(child)) {}
  ChildEnd(ChildEnd&&) noexcept = default;
  ChildEnd& operator=(ChildEnd&&) = delete;
  ~ChildEnd() {
    if (child_ != nullptr) {
      end(nullptr);
    }
  }

  void operator()(std::exception_ptr error) { end(std::move(error)); }

 private:
  void end(std::exception_ptr error) noexcept {
    const std::shared_ptr<Child> child = std::exchange(child_, nullptr);
    child->context->task_ended();
    if (Scope* scope = child->scope) {
      scope->child_ended(*child, std::move(error));
    }
  }

  std::shared_ptr<Child> child_;
};

}  // namespace detail

namespace {

using detail::Child;
using detail::ChildEnd;

bool is_cancellation(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& failure) {
    return failure.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

// The outermost frame of every coroutine. It gives way once, so that spawn() never runs the child inside the caller,
// and so that Asio's own frame around it, which in 1.81 lets a cancellation escape from run() when the coroutine never
// was suspended, always has been. A child cancelled before its turn is destroyed without having run.
Task<> run_child(Context& context, std::shared_ptr<Child> child, Task<> task) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await yield(context);
  if (child->cancelled) {
    co_return;
  }
  co_await asio::this_coro::throw_if_cancelled(true);
  Task<> body = std::move(task);
  co_await std::move(body);
}

}  // namespace

void TaskHandle::cancel() noexcept {
  if (done() || std::exchange(child_->cancelled, true)) {
    return;
  }
  const Context::Inside inside(*child_->context);
  child_->signal.emit(asio::cancellation_type::terminal);
}

bool TaskHandle::done() const noexcept {
  return child_ == nullptr || child_->scope == nullptr;
}

Scope::Scope(Context& context, std::string name)
    : context_(context), name_(std::move(name)), ended_(context, name_ + " children") {}

Scope::~Scope() {
  if (children_.empty()) {
    // The context may be gone. An error that nobody has seen would be lost.
    BATON_CHECK(error_ == nullptr || std::uncaught_exceptions() > 0, name_);
    return;
  }
  if (context_.destroying()) {
    for (const std::shared_ptr<Child>& child : children_) {
      child->scope = nullptr;
    }
    return;
  }
  // Children refer to what their parent holds. If this fails, a frame left its Scope without join(): see in_scope.
  BATON_CHECK(!context_.running_here(), name_, children_.size(), children_.front()->name);
  context_.destroy_coroutines();
}

TaskHandle Scope::spawn(std::string name, Task<> task) {
  context_.check_owner();
  if (cancelled_) {
    return TaskHandle();
  }
  auto child = std::make_shared<Child>();
  child->sequence = context_.next_task_sequence();
  child->name = name_ + "." + name;
  child->context = &context_;
  child->scope = this;
  child->place = children_.insert(children_.end(), child);
  context_.task_started();
  const Context::Inside inside(context_);
  const Executor executor{&context_, child.get(), true};
  asio::co_spawn(executor, run_child(context_, child, std::move(task)),
                 asio::bind_cancellation_slot(child->signal.slot(), ChildEnd(child)));
  return TaskHandle(std::move(child));
}

void Scope::cancel() noexcept {
  if (std::exchange(cancelled_, true)) {
    return;
  }
  const Children children = children_;
  for (const std::shared_ptr<Child>& child : children) {
    TaskHandle(child).cancel();
  }
}

Task<> Scope::join() {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  bool caller_cancelled = false;
  for (;;) {
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      caller_cancelled = true;
      cancel();
    }
    if (children_.empty()) {
      break;
    }
    co_await ended_.wait();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  rethrow_error();
  if (caller_cancelled && throws) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

void Scope::rethrow_error() {
  if (error_ != nullptr) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void Scope::child_ended(Child& child, std::exception_ptr error) noexcept {
  const bool was_cancelled = child.cancelled;
  child.scope = nullptr;
  children_.erase(child.place);
  if (error != nullptr && !(was_cancelled && is_cancellation(error))) {
    if (error_ == nullptr) {
      error_ = std::move(error);
    }
    cancel();
  }
  if (children_.empty()) {
    ended_.notify();
  }
}

}  // namespace baton
