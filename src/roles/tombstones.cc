#include "roles/tombstones.h"

#include <utility>

namespace baton {

void Tombstones::add(RoomId room, std::optional<Failure> cause, TimePoint now) {
  if (!causes_.try_emplace(room, std::move(cause)).second) {
    return;
  }
  order_.push_back({room, now + limits_.lifetime});
  if (order_.size() > limits_.rooms_max) {
    causes_.erase(order_.front().room);
    order_.pop_front();
  }
}

Failure Tombstones::cause(RoomId room) const {
  const auto found = causes_.find(room);
  if (found != causes_.end() && found->second) {
    return *found->second;
  }
  return Failure(Errc::aborted, "tombstone", "the room is over");
}

TimePoint Tombstones::expire(TimePoint now) {
  while (!order_.empty() && order_.front().expires <= now) {
    causes_.erase(order_.front().room);
    order_.pop_front();
  }
  return order_.empty() ? kNever : order_.front().expires;
}

}  // namespace baton
