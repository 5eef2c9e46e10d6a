#include "roles/prefill.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/mutants.h"

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
  scope_.spawn("heartbeat", parts_.peers.beat());
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
    for (PrefillRoom* room : in_order(rooms_)) {
      saw(room_event::kStop, room->job.room);
      fail(*room, cause);
    }
    while (!early_landings_.empty()) {
      saw(room_event::kStop, early_landings_.begin()->first);
      refuse_early(early_landings_.begin()->first, cause);
    }
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
  saw(room_event::kJob, id);
  if (rooms_.contains(id) && mutant(Mutant::prefill_refuses_open_room)) {
    return refuse(job, Failure(Errc::corrupt, to_string(parts_.self.rank), "the room is open already"));
  }
  if ((tombstones_.contains(id) && !mutant(Mutant::prefill_takes_job_twice)) || rooms_.contains(id)) {
    return;  // a cancel overtook the job, or the job came twice
  }
  if (stopping_) {
    return refuse(job, Failure(Errc::unavailable, to_string(parts_.self.rank), "the rank is shutting down"));
  }
  if (job.prefill != parts_.self || parts_.peers.gone(job.prefill) || parts_.peers.gone(job.decode)) {
    return refuse(job, Failure(Errc::peer_lost, to_string(parts_.self.rank),
                               "the job is for a life of this rank or its peer that is over"));
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
  if (!mutant(Mutant::prefill_forgets_min_tokens)) {
    room->banned = banned_tokens(room->job.request->stop, parts_.rules.end_of_text, 0);
  }
  deadlines_.add(room->job.deadline, id);
  deadline_.notify();
  put_in(bootstrap_, *room);
  note("bootstrap", id, prompt);
  if (const std::optional<Landing> early = take_early(id)) {
    open(*room, *early);
  }
}

void PrefillRank::take(Landing landing) {
  const RoomId id = landing.id.room;
  saw(room_event::kLanding, id);
  if (const auto found = rooms_.find(id); found != rooms_.end()) {
    return open(*found->second, landing);
  }
  if (tombstones_.contains(id) && !mutant(Mutant::late_landing_is_kept)) {
    return parts_.sender.refuse(landing, tombstones_.cause(id));
  }
  if (const auto early = early_landings_.find(id); early != early_landings_.end() && early->second.landing == landing) {
    return;  // the same message again
  }
  const bool full = early_landings_.size() >= config_.rooms_max;
  if (stopping_ || full || early_landings_.contains(id)) {
    return parts_.sender.refuse(
        landing, Failure(Errc::overloaded, to_string(parts_.self.rank), "no place for a landing without a job"));
  }
  keep_early(std::move(landing));
}

void PrefillRank::take(CancelRoom cancel) {
  saw(room_event::kCancel, cancel.room);
  this->cancel(cancel.room, std::move(cancel.cause));
}

void PrefillRank::cancel(RoomId id, Failure cause) {
  if (const auto found = rooms_.find(id); found != rooms_.end()) {
    return fail(*found->second, std::move(cause));
  }
  refuse_early(id, cause);
  if (!mutant(Mutant::prefill_forgets_cancel)) {
    tombstones_.add(id, std::move(cause), parts_.context.now());
  }
  deadline_.notify();
}

void PrefillRank::take(LegFailed failed) {
  saw(room_event::kLegFailed, failed.room);
  cancel(failed.room, std::move(failed.failure));
}

void PrefillRank::take(PeersGone gone) {
  for (const PeerId& peer : parts_.peers.learn(gone)) {
    parts_.sender.peer_gone(peer);
    for (PrefillRoom* room : in_order(rooms_)) {
      if (room->job.decode == peer) {
        saw(room_event::kPeerGone, room->job.room);
        fail(*room, Failure(Errc::peer_lost, to_string(parts_.self.rank), to_string(peer) + " is gone"));
      }
    }
    std::vector<RoomId> early;
    for (const auto& [id, entry] : early_landings_) {
      if (entry.landing.target == peer) {
        early.push_back(id);
      }
    }
    for (const RoomId id : early) {
      saw(room_event::kPeerGone, id);
      take_early(id);
    }
  }
}

}  // namespace baton
