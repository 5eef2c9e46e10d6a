// What the router hears from the ranks, and what that means for its open rooms.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "roles/router.h"
#include "roles/sample.h"
#include "runtime/mutants.h"

namespace baton {

Task<> Router::listen() {
  for (;;) {
    const bool something = co_await inbox_.wait_nonempty();
    if (!something) {
      co_return;
    }
    take_inbox();
  }
}

void Router::take_inbox() {
  while (std::optional<RouterMessage> message = inbox_.try_recv()) {
    std::visit([this](auto& body) { take(std::move(body)); }, *message);
    if (mutant(Mutant::router_judges_unread)) {
      return;
    }
  }
}

void Router::take(RoomEvents message) {
  for (RoomEvent& event : message.events) {
    saw(room_event::kEvents, event.room);
    if (const auto found = rooms_.find(event.room); found != rooms_.end()) {
      RouterRoom& room = *found->second;
      room.events.add(event.number, std::move(event.event));
      release_prefill(room);  // it has an event, so the hand-over is behind it
      deliver(room);
    }
  }
}

void Router::take(LegFailed message) {
  saw(room_event::kLegFailed, message.room);
  const auto found = rooms_.find(message.room);
  if (found != rooms_.end()) {
    const RouterRoom& room = *found->second;
    if (!room.aggregated() && !room.prefill_open && message.from == room.prefill.peer.rank) {
      return;  // its part is over: a later life may have refused a job that came twice
    }
  }
  end(message.room, std::move(message.failure), message.from);
}

void Router::take(PrefillDone message) {
  saw(room_event::kPrefillDone, message.room);
  if (const auto found = rooms_.find(message.room); found != rooms_.end()) {
    release_prefill(*found->second);
  }
}

void Router::take(Heartbeat message) {
  const PeerId& peer = message.from;
  if (const std::optional<PeerId> replaced = membership_.heard(peer, context_.now())) {
    lose({*replaced}, fmt::format("{} was started again", to_string(peer.rank)));
  }
  refresh_ranks();
  deadline_.notify();
  if (!membership_.gone().empty()) {
    link_.post(peer.rank, PeersGone(membership_.gone().list()));
  }
}

// Instances have become gone: no work for them, nothing to hope from them, and all ranks hear of it at once.
void Router::lose(const std::vector<PeerId>& peers, const std::string& how) {
  refresh_ranks();
  std::vector<RoomId> lost;
  for (const auto& [id, room] : rooms_) {
    const RouterRoom& one = *room;
    if (std::any_of(peers.begin(), peers.end(), [&one](const PeerId& peer) { return one.needs(peer); })) {
      lost.push_back(id);
    }
  }
  std::sort(lost.begin(), lost.end());
  for (const RoomId id : lost) {
    saw(room_event::kPeerGone, id);
    end(id, Failure(Errc::peer_lost, to_string(self()), how), std::nullopt);
  }
  for (const RankId rank : all_ranks()) {
    link_.post(rank, PeersGone(membership_.gone().list()));
  }
}

// Takes over into the lists that routing works on who lives now.
void Router::refresh_ranks() {
  const auto refresh = [this](std::vector<PeerId>& peers, std::vector<policy::RankLoad>& loads) {
    const bool caching = prefixes_ && &peers == (config_.prefix.on_decode ? &ranks_.decode : &ranks_.prefill);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const std::optional<PeerId> alive = membership_.usable(peers[i].rank);
      if (caching && alive && *alive != peers[i]) {
        prefixes_->forget(i);
      }
      peers[i] = alive.value_or(peers[i]);
      loads[i].usable = alive.has_value();
    }
  };
  refresh(ranks_.prefill, prefill_load_);
  refresh(ranks_.decode, decode_load_);
}

std::vector<RankId> Router::all_ranks() const {
  std::vector<RankId> all;
  for (const auto* peers : {&ranks_.prefill, &ranks_.decode}) {
    for (const PeerId& peer : *peers) {
      if (std::find(all.begin(), all.end(), peer.rank) == all.end()) {
        all.push_back(peer.rank);
      }
    }
  }
  return all;
}

// Hands on what is in order by now. The room is gone after its last event.
void Router::deliver(RouterRoom& room) {
  while (std::optional<GenerationEvent> event = room.events.take()) {
    const bool last = std::holds_alternative<FinishEvent>(*event);
    room.sample->deliver(std::move(*event));
    if (last) {
      finished_.add(1);
      return forget(room.id);
    }
  }
}

// The request ends with this cause; a leg that may still be working is told to stop.
void Router::end(RoomId id, Failure cause, std::optional<RankId> already_knows) {
  const auto found = rooms_.find(id);
  if (found == rooms_.end()) {
    return;
  }
  RouterRoom& room = *found->second;
  const RankId prefill = room.prefill.peer.rank;
  const RankId decode = room.decode.peer.rank;
  const bool silent = mutant(Mutant::router_cancels_no_leg);
  if (prefill != already_knows && !room.aggregated() && !silent) {
    link_.post(prefill, CancelRoom(id, cause));
  }
  if (decode != already_knows && !silent) {
    link_.post(decode, CancelRoom(id, cause));
  }
  failed_.add(1);
  const bool hushed_up = cause.code == Errc::peer_lost && mutant(Mutant::router_hides_losses);
  FinishEvent event = hushed_up ? FinishEvent() : FinishEvent(std::move(cause));
  event.usage.prompt_tokens = static_cast<std::uint32_t>(room.request->prompt.size());
  event.timeline.total = context_.now() - room.arrived;
  room.sample->deliver(std::move(event));
  forget(id);
}

void Router::forget(RoomId id) {
  const auto found = rooms_.find(id);
  RouterRoom& room = *found->second;
  release_prefill(room);
  decode_load_[room.decode.index].outstanding_tokens -= room.decode_tokens();
  deadlines_.remove(room.deadline, id);
  room.sample->closed();
  rooms_.erase(found);
  open_gauge_.add(-1);
  room_gone_.notify();
}

void Router::release_prefill(RouterRoom& room) {
  if (std::exchange(room.prefill_open, false)) {
    prefill_load_[room.prefill.index].outstanding_tokens -= room.prefill_tokens();
  }
}

void Router::abandon(RoomId id, Failure cause) {
  saw(room_event::kAbandoned, id);
  end(id, std::move(cause), std::nullopt);
}

room_event::RouterState Router::state_of(RoomId id) const {
  const auto found = rooms_.find(id);
  if (found == rooms_.end()) {
    return room_event::RouterState::unknown;
  }
  return found->second->prefill_open ? room_event::RouterState::open : room_event::RouterState::handed_over;
}

void Router::delivered(const Timeline& timeline) {
  for (std::size_t i = 0; i < kStageCount; ++i) {
    stage_seconds_[i]->observe(seconds(timeline.stages[i]));
  }
}

}  // namespace baton
