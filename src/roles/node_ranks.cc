// The node in the hands of a supervisor: ranks die, are built anew and are looked at.
#include "roles/node.h"
#include "roles/node_slots.h"

namespace baton {

void Node::crash(RankId rank) {
  link_.detach(rank);
  if (rank.role == Role::prefill) {
    prefill_.at(rank).reset();
  } else if (auto& slot = decode_.at(rank)) {
    decode_over(*slot);
    slot.reset();
  }
}

void Node::restart(RankId rank) {
  crash(rank);
  build(rank);
}

PeerId Node::peer(RankId rank) const {
  return peers_.at(rank);
}

const KvPool* Node::pool(RankId rank) const {
  if (rank.role == Role::prefill) {
    const auto& slot = prefill_.at(rank);
    return slot ? slot->pool.get() : nullptr;
  }
  const auto& slot = decode_.at(rank);
  return slot ? &slot->pool : nullptr;
}

KvArena* Node::arena(RankId rank) {
  if (rank.role == Role::prefill) {
    const auto& slot = prefill_.at(rank);
    return slot ? slot->arena.get() : nullptr;
  }
  const auto& slot = decode_.at(rank);
  return slot ? &slot->arena : nullptr;
}

bool Node::drained(RankId rank) const {
  if (rank.role == Role::prefill) {
    const auto& slot = prefill_.at(rank);
    return !slot || slot->rank->drained();
  }
  const auto& slot = decode_.at(rank);
  return !slot || slot->rank->drained();
}

}  // namespace baton
