// The deadlines of a rank's or router's rooms, soonest first. A plain ordered set; the owner does the waiting.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton {

class Deadlines final {
 public:
  void add(TimePoint deadline, RoomId room) { order_.emplace(deadline, room); }
  void remove(TimePoint deadline, RoomId room) { order_.erase({deadline, room}); }

  TimePoint next() const { return order_.empty() ? kNever : order_.begin()->first; }

  // A room whose deadline has passed, soonest first; the caller ends it, which removes it here.
  std::optional<RoomId> expired(TimePoint now) const {
    if (order_.empty() || order_.begin()->first > now) {
      return std::nullopt;
    }
    return order_.begin()->second;
  }

  std::size_t size() const noexcept { return order_.size(); }

 private:
  std::set<std::pair<TimePoint, RoomId>> order_;
};

}  // namespace baton
