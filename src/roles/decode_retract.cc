// What the decode rank does when pages run out: someone gives theirs back, is kept in host memory, and returns later.
#include <algorithm>
#include <utility>

#include "roles/decode.h"
#include "roles/policy/retraction.h"
#include "runtime/mutants.h"

namespace baton {

// Pages the room lacks for the tokens that have no keys and values yet, and for those the engine drafts.
std::uint32_t DecodeRank::pages_wanted(const DecodeRoom& room) const {
  const std::uint32_t drafts = room.output.tokens().empty() ? 0 : parts_.engine.drafts();
  const std::uint32_t needed = parts_.pool.layout().pages_for(std::min(room.tokens() + drafts, room.tokens_max()));
  return needed > room.lease.size() ? needed - room.lease.size() : 0;
}

// Extends the leases for the next step. Where pages are short, victims are retracted; whoever still lacks a page sits
// the step out, and goes on when a transfer has become retractable or a request has ended.
Task<> DecodeRank::make_room() {
  std::vector<DecodeRoom*> rooms;
  std::vector<policy::RetractionCandidate> candidates;
  std::uint64_t short_of = 0;
  running_.for_each([&](const DecodeRoom* room) { short_of += pages_wanted(*room); });
  const bool tight = short_of > parts_.pool.available();
  const auto add = [&](DecodeRoom* room) {
    rooms.push_back(room);
    const std::uint32_t wanted = room->state == DecodeRoom::State::running ? pages_wanted(*room) : 0;
    const std::uint32_t pages = tight ? parts_.pool.returned_by(room->lease) : room->lease.size();
    candidates.push_back({static_cast<std::uint32_t>(room->output.tokens().size()),
                          static_cast<std::uint32_t>(room->prompt().size()), pages, wanted,
                          room->computed >= room->prompt().size() && !room->busy});
  };
  running_.for_each(add);
  ready_.for_each(add);
  std::vector<std::size_t> victims = policy::choose_victims(candidates, parts_.pool.available());
  if (victims.empty() && config_.retract_every != 0 && steps_ >= forced_retraction_ + config_.retract_every) {
    victims = policy::choose_one_victim(candidates);
    forced_retraction_ = steps_;
  }
  if (mutant(Mutant::decode_never_retracts)) {
    victims.clear();
  }
  std::vector<RoomId> ids;
  for (const std::size_t index : victims) {
    rooms[index]->busy = true;
    ids.push_back(rooms[index]->job.room);
  }
  for (const RoomId id : ids) {
    co_await retract(*rooms_.at(id));
  }
  running_.for_each([&](DecodeRoom* room) {
    if (const std::uint32_t wanted = pages_wanted(*room); wanted > 0 && !room->failure) {
      parts_.pool.extend(room->lease, wanted);
    }
  });
}

Task<> DecodeRank::retract(DecodeRoom& room) {
  saw(room_event::kRetract, room.job.room);
  const std::uint32_t left_out = mutant(Mutant::resume_without_keys) ? 1 : 0;
  const std::uint32_t used = parts_.pool.layout().pages_for(room.computed) - left_out;
  co_await room.backup.save(parts_.context, parts_.arena, room.lease.pages().first(used));
  room.busy = false;
  if (room.failure) {
    co_return close(room);
  }
  room.lease.release();
  ++room.retractions;
  parts_.metrics.retraction();
  move(room, DecodeRoom::State::retracted);
}

// Brings retracted requests back, the first retracted first, when the policy finds room. No second hand-over: the keys
// and values come from the host copy, and the next token is drawn at the position where it would have been.
Task<> DecodeRank::resume_retracted() {
  if (retracted_.empty()) {
    co_return;  // the usual case, before every step
  }
  const std::size_t count =
      policy::resume(retracted_requests(), active_requests(), parts_.pool.available(), config_.admission);
  std::vector<RoomId> ids;
  retracted_.for_each([&](DecodeRoom* room) {
    if (ids.size() < count) {
      room->busy = true;
      ids.push_back(room->job.room);
    }
  });
  for (const RoomId id : ids) {
    DecodeRoom& room = *rooms_.at(id);
    std::optional<KvLease> lease = parts_.pool.acquire(parts_.pool.layout().pages_for(room.tokens()));
    if (lease && !room.failure) {
      saw(room_event::kResume, id);
      room.lease = std::move(*lease);
      co_await room.backup.restore(parts_.context, parts_.arena, room.lease.pages());
      move(room, DecodeRoom::State::ready);
    }
    room.busy = false;
    if (room.failure) {
      close(room);
    }
  }
}

}  // namespace baton
