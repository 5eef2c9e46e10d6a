// RemoteQueue: the door through which other threads hand work to a Context, and the bell that wakes it.
//
// Shared by the context and by everyone who may still push, so that a late push to a context that is gone is refused
// instead of touching freed memory. Pushing is lock-free; ring() is async-signal-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/op.h"

namespace baton {

class RemoteQueue final {
 public:
  RemoteQueue();  // throws Error(Errc::internal) when the process is out of descriptors
  RemoteQueue(const RemoteQueue&) = delete;
  RemoteQueue& operator=(const RemoteQueue&) = delete;
  ~RemoteQueue();

  // Any thread. False once closed: the op still belongs to the caller, who must not invoke it through a context.
  [[nodiscard]] bool push(Op* op) noexcept;

  // Any thread, and from a signal handler: makes bell() readable, so that a sleeping owner looks up.
  void ring() noexcept;

  // Any thread: which sleep the owner is in, counted from one, with nothing pushed; none while it is awake. Equal
  // answers at two times: it slept all the while.
  std::optional<std::uint64_t> nap() const noexcept;

  // The rest is the owner's.
  OpQueue take() noexcept;  // everything pushed so far, oldest first
  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }
  bool prepare_sleep() noexcept;  // true: nothing is here, and the next push rings; then wait for bell()
  void awake() noexcept { asleep_.store(false, std::memory_order_relaxed); }
  int bell() const noexcept { return bell_; }  // an eventfd, readable when rung
  void silence() noexcept;                     // clears the bell
  void wait_for_bell() noexcept;               // blocks the thread until rung, clears it
  OpQueue close() noexcept;                    // refuses all later pushes, returns what was inside

 private:
  static OpQueue oldest_first(Op* newest) noexcept;

  Op closed_mark_{nullptr};
  std::atomic<Op*> head_{nullptr};  // newest first
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> naps_{0};
  int bell_ = -1;
};

}  // namespace baton
