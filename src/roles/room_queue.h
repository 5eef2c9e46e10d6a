// A rank's queues hold its rooms without owning them; a room is in exactly one. The rank's table owns them.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/channel.h"
#include "runtime/check.h"
#include "runtime/ids.h"

namespace baton {

template <class Room>
using RoomQueue = Channel<Room*>;

// Takes the room out, wherever it stands. No effect if it is not there.
template <class Room>
void take_out(RoomQueue<Room>& queue, const Room& room) {
  queue.remove_if_first([&room](const Room* other) { return other == &room; });
}

// Puts the room at the end. The queues are made as long as a rank has rooms: a full one is a bug.
template <class Room>
void put_in(RoomQueue<Room>& queue, Room& room) {
  BATON_CHECK(queue.try_send(&room), queue.name(), queue.size());
}

// All rooms of a rank by their ids: what is done to several at once happens in an order that no hash decides. A room
// may be gone before its turn only by its own end.
template <class Room>
std::vector<Room*> in_order(const std::unordered_map<RoomId, std::unique_ptr<Room>>& rooms) {
  std::vector<std::pair<RoomId, Room*>> order;
  for (const auto& [id, room] : rooms) {
    order.emplace_back(id, room.get());
  }
  std::sort(order.begin(), order.end());
  std::vector<Room*> result;
  for (const auto& [id, room] : order) {
    result.push_back(room);
  }
  return result;
}

}  // namespace baton
