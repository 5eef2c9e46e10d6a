#include "roles/membership.h"

#include <algorithm>

#include "runtime/mutants.h"

namespace baton {

Membership::Membership(const std::vector<PeerId>& configured, Liveness liveness) : liveness_(liveness) {
  for (const PeerId& peer : configured) {
    Member& member = members_[peer.rank];
    if (!watches()) {
      member.alive = peer;
    }
  }
}

std::optional<PeerId> Membership::heard(const PeerId& peer, TimePoint now) {
  const auto found = members_.find(peer.rank);
  if (!watches() || found == members_.end() || gone_.contains(peer)) {
    return std::nullopt;
  }
  Member& member = found->second;
  std::optional<PeerId> replaced;
  if (member.alive && *member.alive != peer && mutant(Mutant::router_keeps_dead_instance)) {
    member.heard = now;
    return std::nullopt;
  }
  if (member.alive && *member.alive != peer) {
    replaced = member.alive;
    gone_.add(*replaced);
  }
  member.alive = peer;
  member.heard = now;
  return replaced;
}

std::vector<PeerId> Membership::expire(TimePoint now) {
  std::vector<PeerId> lost;
  if (!watches()) {
    return lost;
  }
  const TimePoint soonest = next();
  const bool overslept = soonest != kNever && now > add_saturating(soonest, liveness_.period);
  for (auto& [rank, member] : members_) {
    if (!member.alive) {
      continue;
    }
    if (overslept) {
      member.heard = now;
    } else if (add_saturating(member.heard, patience()) <= now) {
      lost.push_back(*member.alive);
      gone_.add(*member.alive);
      member.alive.reset();
    }
  }
  return lost;
}

TimePoint Membership::next() const {
  TimePoint soonest = kNever;
  if (!watches()) {
    return soonest;
  }
  for (const auto& [rank, member] : members_) {
    if (member.alive) {
      soonest = std::min(soonest, add_saturating(member.heard, patience()));
    }
  }
  return soonest;
}

std::optional<PeerId> Membership::usable(RankId rank) const {
  const auto found = members_.find(rank);
  return found == members_.end() ? std::nullopt : found->second.alive;
}

}  // namespace baton
