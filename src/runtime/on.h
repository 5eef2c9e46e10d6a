// complete_elsewhere: hands work to another thread and resumes here with what it returns.
//
// The way engines (compute threads) and transports talk to coroutines. The waiting coroutine cannot be cancelled while
// the work is out: buffers in its frame stay valid until the completion is called, as the other side may still write
// into them. After a cancel the next co_await throws as usual.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/check.h"
#include "runtime/suspend.h"
#include "runtime/task.h"

namespace baton {

namespace detail {

template <class T>
struct ErrandWaiter;

// What travels: owned by the Completion, then by the context's remote queue, which brings it home.
template <class T>
struct Errand final : Op {
  explicit Errand(Context& context_in) : Op(&Errand::finish), context(context_in), remote(context_in.remote()) {
    errand_order = context.errand_leaves();
  }

  // On the context's thread. The waiter is null if its coroutine was destroyed meanwhile.
  static void finish(Op* op, bool run) {
    const std::unique_ptr<Errand> self(static_cast<Errand*>(op));
    self->context.errand_returns();
    if (ErrandWaiter<T>* waiter = std::exchange(self->waiter, nullptr)) {
      waiter->errand = nullptr;
      if (run) {
        waiter->value = std::move(self->value);
        self->context.end_wait(*waiter, WaitEnd::ready);
      }
    }
  }

  Context& context;
  std::shared_ptr<RemoteQueue> remote;
  ErrandWaiter<T>* waiter = nullptr;  // the context's thread only
  std::optional<T> value;
};

template <class T>
struct ErrandWaiter : Waiter {
  using Waiter::Waiter;
  ErrandWaiter(const ErrandWaiter&) = delete;
  ErrandWaiter& operator=(const ErrandWaiter&) = delete;
  ~ErrandWaiter() {
    if (errand != nullptr) {
      errand->waiter = nullptr;
    }
  }
  T result() { return std::move(*value); }

  Errand<T>* errand = nullptr;
  std::optional<T> value;
};

// Asio would throw a plain exception_ptr or error_code into the coroutine instead of returning it.
template <class T>
struct Held {
  Held(T value_in) noexcept : value(std::move(value_in)) {}
  operator T() const { return value; }
  T value;
};

template <class T>
inline constexpr bool kThrownByAsio =
    std::is_same_v<T, std::exception_ptr> || std::is_same_v<T, boost::system::error_code>;

template <class T>
using ErrandValue = std::conditional_t<std::is_void_v<T>, bool, std::conditional_t<kThrownByAsio<T>, Held<T>, T>>;

}  // namespace detail

// The right, and the duty, to end one complete_elsewhere: call it exactly once, from any thread, at any time, also from
// within `start`. Move-only. Dropping it uncalled is a bug and fails a check. Calling it after the context is gone does
// nothing. The call allocates nothing and takes no lock.
template <class T>
class Completion final {
  using Value = detail::ErrandValue<T>;

 public:
  Completion() = default;
  explicit Completion(std::unique_ptr<detail::Errand<Value>> errand) noexcept : errand_(std::move(errand)) {}
  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&& other) noexcept {
    BATON_CHECK(errand_ == nullptr);
    errand_ = std::move(other.errand_);
    return *this;
  }
  ~Completion() { BATON_CHECK(errand_ == nullptr); }

  void operator()(Value value)
    requires(!std::is_void_v<T>)
  {
    complete(std::move(value));
  }
  void operator()()
    requires(std::is_void_v<T>)
  {
    complete(true);
  }

  explicit operator bool() const noexcept { return errand_ != nullptr; }

 private:
  void complete(Value value) {
    BATON_CHECK(errand_ != nullptr);
    errand_->value.emplace(std::move(value));
    const std::shared_ptr<RemoteQueue> remote = errand_->remote;
    detail::Errand<Value>* errand = errand_.release();
    if (!remote->push(errand)) {
      delete errand;  // the context is gone and its waiters with it
    }
  }

  std::unique_ptr<detail::Errand<Value>> errand_;
};

// co_await complete_elsewhere<T>(context, start): calls start(Completion<T>) on this thread, at once, and resumes on
// the context with the value the completion is called with (true when T is void). `start` must not throw. Give it as a
// named object or with [&] captures only: see the await rules in task.h.
template <class T, class Start>
auto complete_elsewhere(Context& context, Start start) {
  using Value = detail::ErrandValue<T>;
  using Parked = detail::ErrandWaiter<Value>;
  auto begin = [&context, start = std::move(start)](Parked& waiter) mutable noexcept {
    static const std::string place = "another thread";
    auto errand = std::make_unique<detail::Errand<Value>>(context);
    errand->waiter = &waiter;
    waiter.errand = errand.get();
    context.park(waiter, "wait for", &place);
    start(Completion<T>(std::move(errand)));
  };
  return detail::suspend<void(Value), Parked, detail::Cancel::ignored>(context, std::move(begin));
}

}  // namespace baton
