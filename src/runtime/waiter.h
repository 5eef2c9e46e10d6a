// Waiter: one suspended coroutine, where it waits and how the wait ended. WaitList: those who wait in one place.
//
// Internal to the runtime; owner's thread only. A parked Waiter stands in up to three places at once: the context's
// register of all waiters (for the deadlock report and for destruction), the wait list of a channel or pulse, and the
// timer heap. Context::end_wait takes it out of all three and puts it on the run queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/op.h"
#include "runtime/time.h"

namespace baton {

// Which coroutine: the name given to Scope::spawn, and its rank in the order of creation (children after parents).
struct TaskInfo {
  std::uint64_t sequence = 0;
  std::string name;
};

enum class WaitEnd : std::uint8_t { pending, ready, timed_out, cancelled, closed };

// One place of an element in a circular list; a list of its own when alone.
template <class Tag>
class Link {
 public:
  Link() noexcept : next_(this), previous_(this) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { unlink(); }

  bool linked() const noexcept { return next_ != this; }

  void unlink() noexcept {
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = this;
  }

  void insert_before(Link& place) noexcept {
    previous_ = place.previous_;
    next_ = &place;
    previous_->next_ = this;
    place.previous_ = this;
  }

  Link* next() const noexcept { return next_; }

 private:
  Link* next_;
  Link* previous_;
};

struct InRegister;  // tag: the context's register of all parked waiters
struct InWaitList;  // tag: the wait list of one channel, pulse or mailbox

struct Waiter : Op, Link<InRegister>, Link<InWaitList> {
  static constexpr std::size_t kNotArmed = SIZE_MAX;

  explicit Waiter(Invoke invoke_in) noexcept : Op(invoke_in) { is_waiter = true; }

  std::size_t timer_index = kNotArmed;  // place in the timer heap
  TimePoint since{};                    // when it was parked
  const char* action = "";              // "recv", "send", "wait", ...
  const std::string* place = nullptr;   // name of the channel, mailbox or pulse; null for a sleep
  const TaskInfo* task = nullptr;       // null: not started by a Scope
  WaitEnd end = WaitEnd::pending;
};

template <class Tag>
class WaiterList final {
 public:
  bool empty() const noexcept { return !head_.linked(); }
  Waiter* front() const noexcept { return empty() ? nullptr : cast(head_.next()); }
  void push_back(Waiter& waiter) noexcept { static_cast<Link<Tag>&>(waiter).insert_before(head_); }

  template <class Function>
  void for_each(Function function) const {
    for (Link<Tag>* link = head_.next(); link != &head_; link = link->next()) {
      function(*cast(link));
    }
  }

 private:
  static Waiter* cast(Link<Tag>* link) noexcept { return static_cast<Waiter*>(link); }

  Link<Tag> head_;
};

using WaitList = WaiterList<InWaitList>;

}  // namespace baton
