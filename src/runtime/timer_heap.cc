#include "runtime/timer_heap.h"

#include <algorithm>

#include "runtime/check.h"

namespace baton {
namespace {

constexpr std::size_t kArity = 4;
constexpr unsigned kSequenceBits = 48;

}  // namespace

void TimerHeap::arm(Waiter& waiter, TimePoint time, unsigned priority) {
  BATON_CHECK(waiter.timer_index == Waiter::kNotArmed);
  BATON_CHECK(priority < (1U << 16), priority);
  const Entry entry{time, (std::uint64_t{priority} << kSequenceBits) | sequence_++, &waiter};
  entries_.push_back(entry);
  sift_up(entries_.size() - 1, entry);
}

void TimerHeap::disarm(Waiter& waiter) noexcept {
  const std::size_t index = waiter.timer_index;
  if (index == Waiter::kNotArmed) {
    return;
  }
  waiter.timer_index = Waiter::kNotArmed;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (index == entries_.size()) {
    return;
  }
  if (index > 0 && last < entries_[(index - 1) / kArity]) {
    sift_up(index, last);
  } else {
    sift_down(index, last);
  }
}

void TimerHeap::place(std::size_t index, const Entry& entry) noexcept {
  entries_[index] = entry;
  entry.waiter->timer_index = index;
}

void TimerHeap::sift_up(std::size_t index, Entry entry) noexcept {
  while (index > 0) {
    const std::size_t parent = (index - 1) / kArity;
    if (!(entry < entries_[parent])) {
      break;
    }
    place(index, entries_[parent]);
    index = parent;
  }
  place(index, entry);
}

void TimerHeap::sift_down(std::size_t index, Entry entry) noexcept {
  for (;;) {
    const std::size_t first = kArity * index + 1;
    if (first >= entries_.size()) {
      break;
    }
    const std::size_t end = std::min(first + kArity, entries_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (entries_[child] < entries_[least]) {
        least = child;
      }
    }
    if (!(entries_[least] < entry)) {
      break;
    }
    place(index, entries_[least]);
    index = least;
  }
  place(index, entry);
}

}  // namespace baton
