#include "transport/resend.h"

namespace baton {

void ResendSchedule::add(const TransferId& id, TimePoint now) {
  if (options_.interval <= Duration::zero() || rooms_.contains(id)) {
    return;
  }
  const TimePoint due = add_saturating(now, options_.interval);
  rooms_.emplace(id, Room{due, options_.interval});
  due_.emplace(due, id);
}

void ResendSchedule::remove(const TransferId& id) {
  const auto found = rooms_.find(id);
  if (found != rooms_.end()) {
    due_.erase({found->second.due, id});
    rooms_.erase(found);
  }
}

std::vector<TransferId> ResendSchedule::take_due(TimePoint now) {
  std::vector<TransferId> taken;
  while (!due_.empty() && due_.begin()->first <= now && taken.size() < options_.round_max) {
    const TransferId id = due_.begin()->second;
    due_.erase(due_.begin());
    Room& room = rooms_.at(id);
    room.pause = options_.next(room.pause);
    room.due = add_saturating(now, room.pause);
    due_.emplace(room.due, id);
    taken.push_back(id);
  }
  while (!due_.empty() && due_.begin()->first <= now) {
    const TransferId id = due_.begin()->second;
    due_.erase(due_.begin());
    Room& room = rooms_.at(id);
    room.due = add_saturating(now, options_.interval);
    due_.emplace(room.due, id);
  }
  return taken;
}

}  // namespace baton
