#include "roles/prefill.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace baton {

PrefillRank::PrefillRank(PrefillParts parts, PrefillConfig config)
    : parts_(parts),
      config_(config),
      scope_(parts.context, to_string(parts.self.rank)),
      inbox_(parts.context, "prefill inbox"),
      bootstrap_(parts.context, "bootstrap", config.rooms_max),
      waiting_(parts.context, "waiting", config.rooms_max),
      inflight_(parts.context, "inflight", config.rooms_max),
      tombstones_(config.tombstones),
      work_(parts.context, "prefill work"),
      deadline_(parts.context, "prefill deadlines"),
      room_gone_(parts.context, "prefill rooms") {}

Task<> PrefillRank::run() {
  scope_.spawn("serve", parts_.sender.serve());
  scope_.spawn("listen", listen());
  scope_.spawn("compute", compute());
  scope_.spawn("deadlines", watch_deadlines());
  scope_.spawn("life", live());
  co_await scope_.join();
}

// Ends the rank's loops when it was stopped and nobody is left.
Task<> PrefillRank::live() {
  while (!stopping_ || !rooms_.empty()) {
    co_await room_gone_.wait();
  }
  scope_.cancel();
}

void PrefillRank::stop() {
  parts_.context.post([this] {
    stopping_ = true;
    const Failure cause(Errc::unavailable, to_string(parts_.self.rank), "the rank is shutting down");
    std::vector<PrefillRoom*> open_rooms;
    for (const auto& [id, room] : rooms_) {
      open_rooms.push_back(room.get());
    }
    for (PrefillRoom* room : open_rooms) {
      fail(*room, cause);
    }
    for (const auto& [id, landing] : early_landings_) {
      parts_.sender.refuse(landing, cause);
    }
    early_landings_.clear();
    room_gone_.notify();
  });
}

bool PrefillRank::drained() const noexcept {
  const bool pages_back = parts_.pool == nullptr || parts_.pool->drained();
  return rooms_.empty() && early_landings_.empty() && bootstrap_.empty() && waiting_.empty() && inflight_.empty() &&
         deadlines_.size() == 0 && parts_.sender.open_transfers() == 0 && pages_back;
}

Task<> PrefillRank::listen() {
  while (std::optional<RankMessage> message = co_await inbox_.recv()) {
    std::visit([this](auto& body) { take(std::move(body)); }, *message);
    update_metrics();
  }
}

void PrefillRank::take(Job job) {
  const RoomId id = job.room;
  if (tombstones_.contains(id) || rooms_.contains(id)) {
    return;  // a cancel overtook the job, or the job came twice
  }
  if (stopping_) {
    return refuse(job, Failure(Errc::unavailable, to_string(parts_.self.rank), "the rank is shutting down"));
  }
  if (rooms_.size() >= config_.rooms_max) {
    return refuse(job, Failure(Errc::overloaded, to_string(parts_.self.rank),
                               fmt::format("{} prompts are open, the most this rank takes", rooms_.size())));
  }
  const std::size_t prompt = job.request->prompt.size();
  const std::uint32_t limit = parts_.engine.context_length();
  if (prompt == 0 || prompt > limit) {
    return refuse(job, Failure(Errc::too_large, to_string(parts_.self.rank),
                               fmt::format("the prompt has {} tokens, the model takes 1 to {}", prompt, limit)));
  }
  auto owned = std::make_unique<PrefillRoom>(parts_.context, std::move(job));
  PrefillRoom* room = owned.get();
  rooms_.emplace(id, std::move(owned));
  room->banned = banned_tokens(room->job.request->stop, parts_.rules.end_of_text, 0);
  deadlines_.add(room->job.deadline, id);
  deadline_.notify();
  put_in(bootstrap_, *room);
  note("bootstrap", id, prompt);
  if (const auto early = early_landings_.find(id); early != early_landings_.end()) {
    const Landing landing = std::move(early->second);
    early_landings_.erase(early);
    open(*room, landing);
  }
}

void PrefillRank::take(Landing landing) {
  const RoomId id = landing.id.room;
  if (const auto found = rooms_.find(id); found != rooms_.end()) {
    return open(*found->second, landing);
  }
  if (tombstones_.contains(id)) {
    return parts_.sender.refuse(landing, tombstones_.cause(id));
  }
  const bool full = early_landings_.size() >= config_.rooms_max;
  if (stopping_ || full || early_landings_.contains(id)) {
    return parts_.sender.refuse(
        landing, Failure(Errc::overloaded, to_string(parts_.self.rank), "no place for a landing without a job"));
  }
  early_landings_.emplace(id, std::move(landing));
}

void PrefillRank::take(CancelRoom cancel) {
  const auto found = rooms_.find(cancel.room);
  if (found != rooms_.end()) {
    return fail(*found->second, std::move(cancel.cause));
  }
  if (const auto early = early_landings_.find(cancel.room); early != early_landings_.end()) {
    parts_.sender.refuse(early->second, cancel.cause);
    early_landings_.erase(early);
  }
  tombstones_.add(cancel.room, std::move(cancel.cause), parts_.context.now());
  deadline_.notify();
}

void PrefillRank::take(LegFailed failed) {
  if (const auto found = rooms_.find(failed.room); found != rooms_.end()) {
    fail(*found->second, std::move(failed.failure));
  }
}

void PrefillRank::take(PeersGone gone) {
  for (const PeerId& peer : gone.peers) {
    parts_.sender.peer_gone(peer);
  }
}

// Decode has pages for the room. Where its arena can be computed into, the engine writes them directly.
void PrefillRank::open(PrefillRoom& room, const Landing& landing) {
  if (room.failure || room.outgoing) {
    return parts_.sender.refuse(landing, room.failure ? *room.failure
                                                      : Failure(Errc::corrupt, to_string(parts_.self.rank),
                                                                "a second landing for the same room"));
  }
  if (landing.prompt_tokens != room.prompt_tokens() || landing.first_position != 0) {
    Failure cause(Errc::corrupt, to_string(parts_.self.rank),
                  fmt::format("the landing is for {} tokens from {}, the prompt has {}", landing.prompt_tokens,
                              landing.first_position, room.prompt_tokens()));
    parts_.sender.refuse(landing, cause);
    return fail(room, std::move(cause));
  }
  Opened opened = parts_.sender.open(landing);
  if (!opened) {
    return fail(room, std::move(opened.refusal));
  }
  room.outgoing = std::move(opened.outgoing);
  room.landed = parts_.context.now();
  move(room, PrefillRoom::State::waiting);
  note("waiting", room.job.room, landing.pages.size());
  scope_.spawn("send", send_room(room));  // which closes the room in the end, also when it fails below
  if (std::byte* direct = room.outgoing->direct_arena(); direct != nullptr) {
    room.arena = direct;
    room.pages = landing.pages;
  } else if (parts_.pool == nullptr) {
    return fail(room, Failure(Errc::internal, to_string(parts_.self.rank), "no pages of its own to compute into"));
  } else if (parts_.pool->layout().pages_for(room.prompt_tokens()) > parts_.pool->capacity()) {
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
  if (!room.outgoing) {
    parts_.link.post(room.job.decode.rank, LegFailed(room.job.room, parts_.self.rank, *room.failure));
    return close(room);
  }
  room.outgoing->fail(*room.failure);
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
  if (const auto early = early_landings_.find(job.room); early != early_landings_.end()) {
    parts_.sender.refuse(early->second, cause);
    early_landings_.erase(early);
  }
  parts_.link.post(job.decode.rank, LegFailed(job.room, parts_.self.rank, cause));
  parts_.link.post_router(job.router, LegFailed(job.room, parts_.self.rank, cause));
  tombstones_.add(job.room, std::move(cause), parts_.context.now());
  deadline_.notify();
}

Task<> PrefillRank::watch_deadlines() {
  for (;;) {
    const TimePoint now = parts_.context.now();
    while (const std::optional<RoomId> id = deadlines_.expired(now)) {
      PrefillRoom& room = *rooms_.at(*id);
      deadlines_.remove(room.job.deadline, *id);  // a room that has to finish a step first must not be found again
      fail(room, Failure(Errc::timeout, to_string(parts_.self.rank), "the request's deadline passed during prefill"));
    }
    const TimePoint next = std::min(deadlines_.next(), tombstones_.expire(now));
    co_await deadline_.wait_until(next);
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
