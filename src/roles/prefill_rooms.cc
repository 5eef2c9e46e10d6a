// How rooms of the prefill rank come and go: opened by a landing, ended once, forgotten when nobody uses them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "roles/prefill.h"
#include "runtime/mutants.h"

namespace baton {

// Decode has pages for the room. Where its arena can be computed into, the engine writes them directly.
void PrefillRank::open(PrefillRoom& room, const Landing& landing) {
  if (room.outgoing && room.outgoing->landing() == landing) {
    return;  // the same message again
  }
  if (room.failure || room.outgoing) {
    return parts_.sender.refuse(landing, room.failure ? *room.failure
                                                      : Failure(Errc::corrupt, to_string(parts_.self.rank),
                                                                "a second landing for the same room"));
  }
  if (landing.target != room.job.decode) {
    Failure cause(Errc::peer_lost, to_string(parts_.self.rank),
                  fmt::format("the landing is from another life of {}", to_string(room.job.decode)));
    parts_.sender.refuse(landing, cause);
    return fail(room, std::move(cause));
  }
  if (landing.prompt_tokens != room.prompt_tokens()) {
    Failure cause(
        Errc::corrupt, to_string(parts_.self.rank),
        fmt::format("the landing is for {} tokens, the prompt has {}", landing.prompt_tokens, room.prompt_tokens()));
    parts_.sender.refuse(landing, cause);
    return fail(room, std::move(cause));
  }
  Opened opened = parts_.sender.open(landing);
  if (!opened) {
    return fail(room, std::move(opened.refusal));
  }
  room.outgoing = std::move(opened.outgoing);
  room.landed = parts_.context.now();
  room.landing_page = room.pushed_pages = static_cast<std::uint32_t>(landing.found_pages.size());
  move(room, PrefillRoom::State::waiting);
  note("waiting", room.job.room, landing.pages.size());
  scope_.spawn("send " + to_string(room.job.room),
               send_room(room));  // which closes the room in the end, also when it fails below
  if (std::byte* direct = room.outgoing->direct_arena(); direct != nullptr) {
    room.arena = direct;
    room.pages = landing.found_pages;
    room.pages.insert(room.pages.end(), landing.pages.begin(), landing.pages.end());
    room.cached = room.computed = landing.first_position;
  } else if (parts_.pool == nullptr) {
    return fail(room, Failure(Errc::internal, to_string(parts_.self.rank), "no pages of its own to compute into"));
  } else if (parts_.pool->layout().pages_for(room.prompt_tokens()) > parts_.pool->capacity() &&
             !mutant(Mutant::prefill_takes_what_never_fits)) {
    return fail(room, Failure(Errc::too_large, to_string(parts_.self.rank),
                              fmt::format("the prompt has {} tokens, the prefill pool holds {}", room.prompt_tokens(),
                                          std::uint64_t{parts_.pool->capacity()} * parts_.pool->layout().page_tokens)));
  }
  work_.notify();
}

// The first cause ends the room. Whoever is using it (a step, its send task) finishes first; close() is the end.
void PrefillRank::fail(PrefillRoom& room, Failure cause) {
  if (room.failure) {
    return;
  }
  room.failure = std::move(cause);
  parts_.metrics.failure();
  if (!room.outgoing) {
    parts_.link.post(room.job.decode.rank, LegFailed(room.job.room, parts_.self.rank, *room.failure));
    return close(room);
  }
  room.outgoing->fail(*room.failure);
  if (room.in_step && mutant(Mutant::prefill_frees_during_step)) {
    room.lease.release();
  }
  room.progress.notify();
}

// Forgets the room; the last thing that happens to it. Destroying `outgoing` tells decode that no write follows.
void PrefillRank::close(PrefillRoom& room) {
  take_out(queue(room.state), room);
  const RoomId id = room.job.room;
  note("over", id, room.computed, room.failure ? static_cast<std::uint64_t>(room.failure->code) : 0);
  if (room.failure) {
    parts_.link.post_router(room.job.router, LegFailed(id, parts_.self.rank, *room.failure));
  } else {
    parts_.link.post_router(room.job.router, PrefillDone(id));
  }
  deadlines_.remove(room.job.deadline, id);
  tombstones_.add(id, room.failure, parts_.context.now());
  rooms_.erase(id);
  deadline_.notify();
  work_.notify();  // its pages may be what another room waits for
  room_gone_.notify();
  update_metrics();
}

// A job that never gets a room here: both the other leg and the router hear why.
void PrefillRank::refuse(const Job& job, Failure cause) {
  note("refused", job.room, 0, static_cast<std::uint64_t>(cause.code));
  if (mutant(Mutant::prefill_refuses_in_silence)) {
    return;
  }
  refuse_early(job.room, cause);
  parts_.link.post(job.decode.rank, LegFailed(job.room, parts_.self.rank, cause));
  parts_.link.post_router(job.router, LegFailed(job.room, parts_.self.rank, cause));
  tombstones_.add(job.room, std::move(cause), parts_.context.now());
  deadline_.notify();
}

Task<> PrefillRank::watch_deadlines() {
  for (;;) {
    const TimePoint now = parts_.context.now();
    while (const std::optional<RoomId> id = deadlines_.expired(now)) {
      saw(room_event::kDeadline, *id);
      PrefillRoom& room = *rooms_.at(*id);
      deadlines_.remove(room.job.deadline, *id);  // a room that has to finish a step first must not be found again
      if (!mutant(Mutant::prefill_ignores_deadline)) {
        fail(room, Failure(Errc::timeout, to_string(parts_.self.rank), "the request's deadline passed during prefill"));
      }
    }
    while (const std::optional<RoomId> id = early_deadlines_.expired(now)) {
      saw(room_event::kDeadline, *id);
      cancel(*id, Failure(Errc::timeout, to_string(parts_.self.rank), "no job came for the landing"));
    }
    const TimePoint next = std::min({deadlines_.next(), early_deadlines_.next(), tombstones_.expire(now)});
    co_await deadline_.wait_until(next);
  }
}

// Decode was faster than the router's job. Which may never come: its pages are not held for ever.
void PrefillRank::keep_early(Landing landing) {
  const RoomId id = landing.id.room;
  const bool kept = mutant(Mutant::prefill_keeps_early_landing);
  const TimePoint expires = kept ? kNever : add_saturating(parts_.context.now(), config_.early_landing_lifetime);
  early_landings_.emplace(id, EarlyLanding{std::move(landing), expires});
  early_deadlines_.add(expires, id);
  deadline_.notify();
}

std::optional<Landing> PrefillRank::take_early(RoomId id) {
  const auto found = early_landings_.find(id);
  if (found == early_landings_.end()) {
    return std::nullopt;
  }
  early_deadlines_.remove(found->second.expires, id);
  return std::move(early_landings_.extract(found).mapped().landing);
}

void PrefillRank::refuse_early(RoomId id, const Failure& cause) {
  if (const std::optional<Landing> early = take_early(id)) {
    parts_.sender.refuse(*early, cause);
  }
}

void PrefillRank::move(PrefillRoom& room, PrefillRoom::State to) {
  take_out(queue(room.state), room);
  room.state = to;
  put_in(queue(to), room);
}

RoomQueue<PrefillRoom>& PrefillRank::queue(PrefillRoom::State state) {
  switch (state) {
    case PrefillRoom::State::bootstrap:
      return bootstrap_;
    case PrefillRoom::State::waiting:
      return waiting_;
    case PrefillRoom::State::inflight:
      return inflight_;
  }
  return bootstrap_;
}

room_event::PrefillState PrefillRank::state_of(RoomId id) const {
  if (const auto found = rooms_.find(id); found != rooms_.end()) {
    const PrefillRoom& room = *found->second;
    const auto in_queue = static_cast<int>(room_event::PrefillState::bootstrap) + static_cast<int>(room.state);
    return room.failure ? room_event::PrefillState::failing : static_cast<room_event::PrefillState>(in_queue);
  }
  if (early_landings_.contains(id)) {
    return room_event::PrefillState::early_landing;
  }
  return tombstones_.contains(id) ? room_event::PrefillState::tombstone : room_event::PrefillState::unknown;
}

void PrefillRank::update_metrics() {
  parts_.metrics.queue("bootstrap", bootstrap_.size());
  parts_.metrics.queue("waiting", waiting_.size());
  parts_.metrics.queue("inflight", inflight_.size());
  parts_.metrics.queue("early_landings", early_landings_.size());
  if (parts_.pool != nullptr) {
    parts_.metrics.pool(*parts_.pool);
  }
}

}  // namespace baton
