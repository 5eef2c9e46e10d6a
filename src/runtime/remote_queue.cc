#include "runtime/remote_queue.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/errors.h"

namespace baton {

RemoteQueue::RemoteQueue() : bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (bell_ < 0) {
    throw Error(Errc::internal, fmt::format("cannot create an eventfd: {}", std::strerror(errno)));
  }
}

RemoteQueue::~RemoteQueue() {
  ::close(bell_);
}

bool RemoteQueue::push(Op* op) noexcept {
  Op* head = head_.load(std::memory_order_acquire);
  do {
    if (head == &closed_mark_) {
      return false;
    }
    op->next = head;
  } while (!head_.compare_exchange_weak(head, op, std::memory_order_seq_cst, std::memory_order_acquire));
  // Sleeper and pusher each write, then read the other's flag, in one total order: one of them sees the other.
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst)) {
    ring();
  }
  return true;
}

void RemoteQueue::ring() noexcept {
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);
  errno = saved;
}

OpQueue RemoteQueue::take() noexcept {
  return oldest_first(head_.exchange(nullptr, std::memory_order_acquire));
}

std::optional<std::uint64_t> RemoteQueue::nap() const noexcept {
  const bool asleep = asleep_.load(std::memory_order_seq_cst) && head_.load(std::memory_order_seq_cst) == nullptr;
  return asleep ? std::optional(naps_.load(std::memory_order_seq_cst)) : std::nullopt;
}

bool RemoteQueue::prepare_sleep() noexcept {
  naps_.fetch_add(1, std::memory_order_seq_cst);  // before asleep_, so that nobody takes this sleep for the last one
  asleep_.store(true, std::memory_order_seq_cst);
  if (head_.load(std::memory_order_seq_cst) == nullptr) {
    return true;
  }
  awake();
  return false;
}

void RemoteQueue::silence() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto bytes = ::read(bell_, &count, sizeof count);
}

void RemoteQueue::wait_for_bell() noexcept {
  pollfd descriptor{bell_, POLLIN, 0};
  while (::poll(&descriptor, 1, -1) < 0 && errno == EINTR) {
  }
  silence();
}

OpQueue RemoteQueue::close() noexcept {
  return oldest_first(head_.exchange(&closed_mark_, std::memory_order_acq_rel));
}

OpQueue RemoteQueue::oldest_first(Op* newest) noexcept {
  Op* oldest = nullptr;
  while (newest != nullptr) {
    Op* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  OpQueue queue;
  while (oldest != nullptr) {
    Op* next = oldest->next;
    queue.push(oldest);
    oldest = next;
  }
  return queue;
}

}  // namespace baton
