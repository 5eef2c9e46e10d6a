// Rooms that ended a short while ago, with the cause, so that what arrives late meets an answer and not an owner.
//
// Bounded in number and in time; owned by one rank, used on its context only.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>

#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton {

class Tombstones final {
 public:
  struct Limits {
    std::size_t rooms_max = 8192;
    Duration lifetime = std::chrono::seconds(60);
  };

  explicit Tombstones(Limits limits) : limits_(limits) {}

  // The first cause stays. `cause` empty: the room ended well.
  void add(RoomId room, std::optional<Failure> cause, TimePoint now);

  bool contains(RoomId room) const { return causes_.contains(room); }

  // The failure to answer a late message with; for rooms that ended well, that they are over.
  Failure cause(RoomId room) const;

  // Drops what is older than the lifetime. Returns when the next one falls due, kNever if none is left.
  TimePoint expire(TimePoint now);

  std::size_t size() const noexcept { return order_.size(); }

 private:
  struct Entry {
    RoomId room;
    TimePoint expires;
  };

  Limits limits_;
  std::deque<Entry> order_;  // by time of death, which is also the order of expiry
  std::unordered_map<RoomId, std::optional<Failure>> causes_;
};

}  // namespace baton
