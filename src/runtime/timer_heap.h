// TimerHeap: waiters ordered by (time, priority, sequence of arming).
//
// The key is a total order, so that ties never depend on the shape of the heap and a simulation repeats itself. A
// 4-ary heap that knows each waiter's index: arming and disarming cost O(log n). Owner's thread only.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/time.h"
#include "runtime/waiter.h"

namespace baton {

class TimerHeap final {
 public:
  // priority < 65536; smaller goes first among waiters of the same time.
  void arm(Waiter& waiter, TimePoint time, unsigned priority);
  void disarm(Waiter& waiter) noexcept;  // does nothing if it is not armed

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  TimePoint next_time() const noexcept { return entries_.empty() ? kNever : entries_.front().time; }
  Waiter* front() const noexcept { return entries_.empty() ? nullptr : entries_.front().waiter; }

 private:
  struct Entry {
    TimePoint time;
    std::uint64_t tie;  // priority in the upper 16 bits, sequence below
    Waiter* waiter;
    bool operator<(const Entry& other) const noexcept {
      return time != other.time ? time < other.time : tie < other.tie;
    }
  };

  void place(std::size_t index, const Entry& entry) noexcept;
  void sift_up(std::size_t index, Entry entry) noexcept;
  void sift_down(std::size_t index, Entry entry) noexcept;

  std::vector<Entry> entries_;
  std::uint64_t sequence_ = 0;
};

}  // namespace baton
