#include "runtime/context.h"

#include <vector>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/stable_order.h"

namespace baton {
namespace {

// Which context this thread runs. One word per thread: without it an executor could not tell home from abroad.
constinit thread_local Context* current_context = nullptr;

Link<InRegister>& in_register(Waiter& waiter) noexcept {
  return waiter;
}
Link<InWaitList>& in_wait_list(Waiter& waiter) noexcept {
  return waiter;
}

std::uint64_t sequence_of(const Waiter& waiter) noexcept {
  return waiter.task == nullptr ? UINT64_MAX : waiter.task->sequence;
}

std::string describe(const Waiter& waiter) {
  const char* task = waiter.task == nullptr ? "(unnamed)" : waiter.task->name.c_str();
  const double since = seconds(waiter.since.time_since_epoch());
  if (waiter.place == nullptr) {
    return fmt::format("  {}: {}, since {:.9f} s\n", task, waiter.action, since);
  }
  return fmt::format("  {}: {} '{}', since {:.9f} s\n", task, waiter.action, *waiter.place, since);
}

}  // namespace

// ---- Executor

boost::asio::execution_context& Executor::query(boost::asio::execution::context_t) const noexcept {
  return context->asio_context();
}

bool Executor::runs_inline() const noexcept {
  return may_run_inline && context == current_context;
}

void Executor::submit(Op* op) const {
  context->submit(op);
}

// ---- Inside

Context::Inside::Inside(Context& context) noexcept
    : context_(context), outer_(current_context), nested_(context.running_here()) {
  if (!nested_) {
    const bool busy = context_.running_.exchange(true, std::memory_order_acquire);
    BATON_CHECK(!busy);
  }
  current_context = &context_;
}

Context::Inside::~Inside() {
  current_context = outer_;
  if (!nested_) {
    context_.running_.store(false, std::memory_order_release);
  }
}

// ---- Context

Context::Context() : remote_(std::make_shared<RemoteQueue>()) {}

// The derived class has destroyed all coroutines and closed the door: what they refer to is gone by now.
Context::~Context() {
  BATON_CHECK(waiters_.empty() && ready_.empty());
}

Context* Context::current() noexcept {
  return current_context;
}

void Context::check_owner() const noexcept {
  BATON_CHECK(running_here() || !running_.load(std::memory_order_relaxed), live_);
}

void Context::submit(Op* op) {
  if (running_here()) {
    ready_.push(op);
    return;
  }
  // A copy: once the op is in, the context may run it, stop and be destroyed before push() has returned.
  const std::shared_ptr<RemoteQueue> remote = remote_;
  if (!remote->push(op)) {
    op->invoke(op, false);
  }
}

void Context::park(Waiter& waiter, const char* action, const std::string* place) noexcept {
  waiter.since = now();
  waiter.action = action;
  waiter.place = place;
  waiters_.push_back(waiter);
}

void Context::end_wait(Waiter& waiter, WaitEnd end) noexcept {
  check_owner();
  BATON_CHECK(waiter.end == WaitEnd::pending);
  waiter.end = end;
  timers_.disarm(waiter);
  in_wait_list(waiter).unlink();
  if (destroying_) {
    return;  // it stays in the register, where destroy_coroutines finds it in its turn
  }
  in_register(waiter).unlink();
  ready_.push(&waiter);
}

void Context::place_ends(Context& context, WaitList& waiters, const std::string& name) noexcept {
  if (waiters.empty()) {
    return;
  }
  if (!context.destroying_) {
    BATON_CHECK(!context.running_.load(std::memory_order_relaxed), name);
    context.destroy_coroutines();
    return;
  }
  while (Waiter* waiter = waiters.front()) {
    context.destroy_waiter(*waiter);
  }
}

bool Context::run_one() {
  Op* op = ready_.pop();
  if (op == nullptr) {
    return false;
  }
  op->invoke(op, true);
  return true;
}

void Context::take_remote() noexcept {
  if (remote_->empty()) {
    return;
  }
  OpQueue arrived = remote_->take();
  while (Op* op = arrived.pop()) {
    ready_.push(op);
  }
}

void Context::expire_front() noexcept {
  end_wait(*timers_.front(), WaitEnd::timed_out);
}

void Context::close_remote() noexcept {
  OpQueue left = remote_->close();
  while (Op* op = left.pop()) {
    op->invoke(op, false);
  }
  destroy_ready();
}

std::string Context::wait_report() const {
  std::vector<const Waiter*> order;
  waiters_.for_each([&](const Waiter& waiter) { order.push_back(&waiter); });
  std::string text = fmt::format("{} coroutines live, {} waiting at {:.9f} s\n", live_, order.size(),
                                 seconds(now().time_since_epoch()));
  const auto oldest_first = [&](std::size_t a, std::size_t b) {
    return sequence_of(*order[a]) < sequence_of(*order[b]);
  };
  for (const std::size_t index : stable_order(order.size(), oldest_first)) {
    text += describe(*order[index]);
  }
  return text;
}

void Context::destroy_coroutines() noexcept {
  BATON_CHECK(!destroying_);
  const Inside inside(*this);
  destroying_ = true;
  take_remote();
  put_newest_first();
  destroy_ready();
  while (Waiter* waiter = waiters_.front()) {
    destroy_waiter(*waiter);
    destroy_ready();
  }
  destroying_ = false;
}

// Functions in the run queue die here; coroutines about to go on are put back among the waiting, so that all die in
// one order.
void Context::put_newest_first() noexcept {
  std::vector<Waiter*> order;
  OpQueue functions;
  while (Op* op = ready_.pop()) {
    if (op->is_waiter) {
      order.push_back(static_cast<Waiter*>(op));
    } else {
      functions.push(op);
    }
  }
  while (Waiter* waiter = waiters_.front()) {
    in_register(*waiter).unlink();
    order.push_back(waiter);
  }
  const auto newest_first = [&](std::size_t a, std::size_t b) {
    return sequence_of(*order[a]) > sequence_of(*order[b]);
  };
  for (const std::size_t index : stable_order(order.size(), newest_first)) {
    waiters_.push_back(*order[index]);
  }
  ready_ = functions;
}

void Context::destroy_ready() noexcept {
  while (Op* op = ready_.pop()) {
    op->invoke(op, false);
  }
}

// Asio destroys the frame through the executor: it arrives in the run queue as a function.
void Context::destroy_waiter(Waiter& waiter) noexcept {
  timers_.disarm(waiter);
  in_wait_list(waiter).unlink();
  in_register(waiter).unlink();
  waiter.invoke(&waiter, false);
}

}  // namespace baton
