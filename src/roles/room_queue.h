// A rank's queues hold its rooms without owning them; a room is in exactly one.
#pragma once

#include "runtime/channel.h"
#include "runtime/check.h"

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

}  // namespace baton
