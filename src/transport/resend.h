// When what may have been lost is said again: the pauses, and who is due.
//
// A repetition costs a few small messages and changes nothing at a peer that heard the first one, so the only questions
// are how soon and how much at once. Pure: no clock, no tasks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/time.h"
#include "transport/transfer.h"

namespace baton {

struct ResendOptions {
  Duration interval = std::chrono::seconds(1);       // until the first repetition; 0: nothing is ever repeated
  Duration interval_max = std::chrono::seconds(16);  // each pause is twice the one before, up to this
  std::size_t round_max = 64;                        // messages that are repeated at one instant, at most

  Duration next(Duration pause) const noexcept { return std::max(interval, std::min(2 * pause, interval_max)); }
};

// The rooms of which something is repeated, each with its own next time.
class ResendSchedule final {
 public:
  explicit ResendSchedule(const ResendOptions& options) : options_(options) {}

  // Due one interval after now. A room that is there already keeps its time.
  void add(const TransferId& id, TimePoint now);
  void remove(const TransferId& id);  // harmless where it is not there
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(rooms_, [&](const auto& room) {
      const bool removed = predicate(room.first);
      if (removed) {
        due_.erase({room.second.due, room.first});
      }
      return removed;
    });
  }

  TimePoint next() const { return due_.empty() ? kNever : due_.begin()->first; }

  // The rooms due at `now`, longest due first, at most options.round_max; each is due again after a longer pause. The
  // rest stays due one interval later, so that a round is bounded.
  std::vector<TransferId> take_due(TimePoint now);

  std::size_t size() const noexcept { return rooms_.size(); }

 private:
  struct Room {
    TimePoint due;
    Duration pause;
  };

  ResendOptions options_;
  std::map<TransferId, Room> rooms_;
  std::set<std::pair<TimePoint, TransferId>> due_;
};

}  // namespace baton
