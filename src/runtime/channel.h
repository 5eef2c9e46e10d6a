// Channel<T>: a bounded queue between coroutines of one context, and the queue of requests of a rank.
//
//   send() ... [blocked senders] -> | buffer, at most capacity items, oldest first | -> [waiting receivers] ... recv()
//
// First in, first out. Everything is cancel-safe: an item is with the sender, in the buffer, or with exactly one
// receiver, whatever is cancelled when. After close() what is buffered stays readable. Besides taking from the front
// one may look at the items in order, take one out of the middle and re-order them: the queues of prefill and decode
// need that. Owner's thread only. T may be move-only and need not be default-constructible; its move must not throw.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/pulse.h"
#include "runtime/stable_order.h"
#include "runtime/suspend.h"
#include "runtime/task.h"

namespace baton {

template <class T>
class Channel final {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  // capacity > 0; the context outlives the channel's use, the name appears in reports.
  Channel(Context& context, std::string name, std::size_t capacity)
      : context_(context), name_(std::move(name)), capacity_(capacity) {
    BATON_CHECK(capacity_ > 0, name_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() {
    Context::place_ends(context_, receivers_, name_);
    Context::place_ends(context_, senders_, name_);
    Context::place_ends(context_, watchers_, name_);
  }

  // co_await send(item): true when the item is in the channel or with a receiver; waits while the buffer is full. False
  // when the channel is closed or closes meanwhile, or when cancelled before there was room: the item is destroyed.
  auto send(T item) {
    return detail::suspend<void(bool), SendWaiter>(
        context_, [this](SendWaiter& waiter) { begin_send(waiter); }, std::move(item));
  }

  // Takes the item only if it returns true; false when full or closed, and then the item is untouched.
  [[nodiscard]] bool try_send(T& item) {
    context_.check_owner();
    if (closed_ || full()) {
      return false;
    }
    deliver(std::move(item));
    return true;
  }
  // The same for a temporary, which is lost if there is no room.
  [[nodiscard]] bool try_send(T&& item) { return try_send(item); }

  // co_await recv(): the oldest item; nullopt when closed and drained, or when cancelled. Always yields once; a loop
  // that wants speed tries try_recv first.
  auto recv() {
    return detail::suspend<void(std::optional<T>), RecvWaiter>(
        context_, [this](RecvWaiter& waiter) { begin_recv(waiter, "recv from", kNever); });
  }

  // co_await recv_before(deadline): the oldest item; Errc::timeout when the deadline is reached first (an item already
  // there wins), Errc::unavailable when closed and drained, Errc::aborted when cancelled.
  auto recv_before(TimePoint deadline) {
    return detail::suspend<void(Result<T>), TimedRecvWaiter>(
        context_, [this, deadline](TimedRecvWaiter& waiter) { begin_recv(waiter, "recv in time from", deadline); });
  }

  std::optional<T> try_recv() {
    context_.check_owner();
    if (items_.empty()) {
      return std::nullopt;
    }
    return take_at(items_.begin());
  }

  // co_await wait_nonempty(): true when there is something to look at, taking nothing; false when closed and drained,
  // or when cancelled. Another consumer may be faster: look again afterwards.
  auto wait_nonempty() {
    return detail::suspend<void(bool), WatchWaiter>(context_, [this](WatchWaiter& waiter) { begin_watch(waiter); });
  }

  // From now on the pulse is notified whenever an item arrives and when the channel closes, so that one coroutine can
  // wait for several channels. The pulse outlives the channel or is taken off with nullptr.
  void watch_with(Pulse* pulse) noexcept { pulse_ = pulse; }

  // No more sends. Receivers that wait get nullopt, senders that wait get false, buffered items stay. Idempotent.
  void close() noexcept {
    context_.check_owner();
    if (std::exchange(closed_, true)) {
      return;
    }
    end_all(receivers_, WaitEnd::closed);
    end_all(senders_, WaitEnd::closed);
    end_all(watchers_, WaitEnd::closed);
    notify_pulse();
  }

  bool closed() const noexcept { return closed_; }
  bool empty() const noexcept { return items_.empty(); }
  bool full() const noexcept { return items_.size() >= capacity_; }
  std::size_t size() const noexcept { return items_.size(); }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t blocked_senders() const noexcept { return count(senders_); }
  const std::string& name() const noexcept { return name_; }

  // Looks and changes in order, oldest first. None of these calls back into the channel, and references last only until
  // the next change of it, so not across a co_await.
  T* front() noexcept { return items_.empty() ? nullptr : &items_.front(); }

  template <class Function>
  void for_each(Function function) {
    for (T& item : items_) {
      function(item);
    }
  }

  template <class Predicate>
  T* find_if(Predicate predicate) {
    const auto found = std::find_if(items_.begin(), items_.end(), predicate);
    return found == items_.end() ? nullptr : &*found;
  }

  // Takes out the oldest item for which the predicate holds, from wherever it stands; a blocked sender moves up.
  template <class Predicate>
  std::optional<T> remove_if_first(Predicate predicate) {
    context_.check_owner();
    const auto found = std::find_if(items_.begin(), items_.end(), predicate);
    if (found == items_.end()) {
      return std::nullopt;
    }
    return take_at(found);
  }

  // Stable sort of what is buffered: less(a, b) puts a before b.
  template <class Less>
  void reorder(Less less) {
    std::deque<T> sorted;
    for (const std::size_t index : stable_order(items_.size(), [&](std::size_t a, std::size_t b) {
           return less(std::as_const(items_[a]), std::as_const(items_[b]));
         })) {
      sorted.push_back(std::move(items_[index]));
    }
    items_ = std::move(sorted);
  }

 private:
  template <class U>
  friend class Mailbox;

  struct RecvWaiter : Waiter {
    using Waiter::Waiter;
    std::optional<T> item;
    std::optional<T> result() noexcept { return std::move(item); }
  };

  struct TimedRecvWaiter : RecvWaiter {
    using RecvWaiter::RecvWaiter;
    Result<T> result() {
      if (this->item) {
        return Result<T>(std::move(*this->item));
      }
      switch (this->end) {
        case WaitEnd::timed_out:
          return Errc::timeout;
        case WaitEnd::closed:
          return Errc::unavailable;
        default:
          return Errc::aborted;
      }
    }
  };

  struct SendWaiter : Waiter {
    SendWaiter(Invoke invoke_in, T&& item_in) noexcept : Waiter(invoke_in), item(std::move(item_in)) {}
    std::optional<T> item;
    bool result() const noexcept { return end == WaitEnd::ready; }
  };

  struct WatchWaiter : Waiter {
    using Waiter::Waiter;
    bool result() const noexcept { return end == WaitEnd::ready; }
  };

  void begin_send(SendWaiter& waiter) {
    if (closed_) {
      context_.end_wait(waiter, WaitEnd::closed);
      return;
    }
    if (!full()) {
      deliver(std::move(*waiter.item));
      context_.end_wait(waiter, WaitEnd::ready);
      return;
    }
    context_.park(waiter, "send to", &name_);
    senders_.push_back(waiter);
  }

  void begin_recv(RecvWaiter& waiter, const char* action, TimePoint deadline) {
    if (!items_.empty()) {
      waiter.item.emplace(take_at(items_.begin()));
      context_.end_wait(waiter, WaitEnd::ready);
      return;
    }
    if (closed_) {
      context_.end_wait(waiter, WaitEnd::closed);
      return;
    }
    if (deadline <= context_.now()) {
      context_.end_wait(waiter, WaitEnd::timed_out);
      return;
    }
    context_.park(waiter, action, &name_);
    receivers_.push_back(waiter);
    if (deadline != kNever) {
      context_.arm(waiter, deadline, 0);
    }
  }

  void begin_watch(WatchWaiter& waiter) {
    if (!items_.empty()) {
      context_.end_wait(waiter, WaitEnd::ready);
      return;
    }
    if (closed_) {
      context_.end_wait(waiter, WaitEnd::closed);
      return;
    }
    context_.park(waiter, "look into", &name_);
    watchers_.push_back(waiter);
  }

  // There is room, or a receiver waits (then the buffer is empty).
  void deliver(T&& item) {
    if (Waiter* waiter = receivers_.front()) {
      static_cast<RecvWaiter*>(waiter)->item.emplace(std::move(item));
      context_.end_wait(*waiter, WaitEnd::ready);
      item_left();
    } else {
      items_.push_back(std::move(item));
      end_all(watchers_, WaitEnd::ready);
    }
    notify_pulse();
  }

  T take_at(typename std::deque<T>::iterator place) {
    T item = std::move(*place);
    items_.erase(place);
    item_left();
    if (Waiter* waiter = senders_.front()) {
      items_.push_back(std::move(*static_cast<SendWaiter*>(waiter)->item));
      context_.end_wait(*waiter, WaitEnd::ready);
      notify_pulse();
    }
    return item;
  }

  void item_left() noexcept {
    if (on_item_left_ != nullptr) {
      on_item_left_(on_item_left_argument_);
    }
  }

  void notify_pulse() noexcept {
    if (pulse_ != nullptr) {
      pulse_->notify();
    }
  }

  void end_all(WaitList& waiters, WaitEnd end) noexcept {
    while (Waiter* waiter = waiters.front()) {
      context_.end_wait(*waiter, end);
    }
  }

  static std::size_t count(const WaitList& waiters) noexcept {
    std::size_t number = 0;
    waiters.for_each([&](const Waiter&) { ++number; });
    return number;
  }

  Context& context_;
  std::string name_;
  std::size_t capacity_;
  std::deque<T> items_;
  WaitList receivers_;
  WaitList senders_;
  WaitList watchers_;
  Pulse* pulse_ = nullptr;
  void (*on_item_left_)(void*) noexcept = nullptr;  // Mailbox counts what it holds
  void* on_item_left_argument_ = nullptr;
  bool closed_ = false;
};

}  // namespace baton
