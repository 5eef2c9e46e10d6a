// How rooms of the decode rank end, and how they move between its queues.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "roles/decode.h"
#include "runtime/mutants.h"

namespace baton {

void DecodeRank::refuse(const Job& job, Failure cause) {
  note("refused", job.room, 0, static_cast<std::uint64_t>(cause.code));
  if (mutant(Mutant::decode_refuses_in_silence)) {
    return;
  }
  if (job.prefill != job.decode) {
    parts_.link.post(job.prefill.rank, CancelRoom(job.room, cause));
  }
  parts_.link.post_router(job.router, LegFailed(job.room, parts_.self.rank, cause));
  tombstones_.add(job.room, std::move(cause), parts_.context.now());
  deadline_.notify();
}

// The first cause ends the room: at once, or when the step, copy or transfer that uses it has let go.
void DecodeRank::fail(DecodeRoom& room, Failure cause) {
  if (room.failure) {
    return;
  }
  if (room.busy) {
    settle_rounds();
  }
  room.failure = std::move(cause);
  parts_.metrics.failure();
  if (room.needs_prefill()) {
    parts_.link.post(room.job.prefill.rank, CancelRoom(room.job.room, *room.failure));
  }
  if (room.state == DecodeRoom::State::transfer) {
    const TransferId id{parts_.self.instance, room.job.room};
    return parts_.receiver->abandon(id, *room.failure);  // await_transfer gets the verdict and closes
  }
  if (!room.busy) {
    close(room);
  } else if (mutant(Mutant::decode_frees_during_step)) {
    room.lease.release();
  }
}

// The last token is out: the finish event goes after it, in the same message.
void DecodeRank::finish(DecodeRoom& room) {
  FinishEvent event = room.output.finish();
  event.usage.prompt_tokens = static_cast<std::uint32_t>(room.prompt().size());
  event.usage.cached_tokens = room.cached_tokens;
  event.timeline = room.timeline(parts_.context.now());
  say(room, std::move(event));
  close(room);
}

// Forgets the room; the last thing that happens to it. Its pages and its host copy go with it.
void DecodeRank::close(DecodeRoom& room) {
  const RoomId id = room.job.room;
  note("over", id, room.output.tokens().size(), room.failure ? static_cast<std::uint64_t>(room.failure->code) : 0);
  take_out(queue(room.state), room);
  if (room.failure) {
    parts_.link.post_router(room.job.router, LegFailed(id, parts_.self.rank, *room.failure));
  }
  deadlines_.remove(room.job.deadline, id);
  tombstones_.add(id, room.failure, parts_.context.now());
  rooms_.erase(id);
  admission_.notify();
  work_.notify();
  deadline_.notify();
  room_gone_.notify();
}

Task<> DecodeRank::watch_deadlines() {
  for (;;) {
    const TimePoint now = parts_.context.now();
    while (const std::optional<RoomId> id = deadlines_.expired(now)) {
      saw(room_event::kDeadline, *id);
      DecodeRoom& room = *rooms_.at(*id);
      deadlines_.remove(room.job.deadline, *id);  // a room that has to finish a step first must not be found again
      if (mutant(Mutant::decode_ignores_deadline)) {
        continue;
      }
      fail(room,
           Failure(Errc::timeout, to_string(parts_.self.rank),
                   fmt::format("the request's deadline passed after {} output tokens", room.output.tokens().size())));
    }
    const TimePoint next = std::min(deadlines_.next(), tombstones_.expire(now));
    co_await deadline_.wait_until(next);
  }
}

void DecodeRank::move(DecodeRoom& room, DecodeRoom::State to) {
  take_out(queue(room.state), room);
  room.state = to;
  const auto index = static_cast<std::size_t>(room_event::DecodeState::prealloc) + static_cast<std::size_t>(to);
  note(room_event::kDecodeStates[index], room.job.room,  // a literal: the history outlives the rank
       room.tokens(), room.lease.size());
  put_in(queue(to), room);
}

RoomQueue<DecodeRoom>& DecodeRank::queue(DecodeRoom::State state) {
  switch (state) {
    case DecodeRoom::State::prealloc:
      return prealloc_;
    case DecodeRoom::State::transfer:
      return transfer_;
    case DecodeRoom::State::ready:
      return ready_;
    case DecodeRoom::State::running:
      return running_;
    case DecodeRoom::State::retracted:
      return retracted_;
  }
  return prealloc_;
}

room_event::DecodeState DecodeRank::state_of(RoomId id) const {
  if (const auto found = rooms_.find(id); found != rooms_.end()) {
    const DecodeRoom& room = *found->second;
    const auto in_queue = static_cast<int>(room_event::DecodeState::prealloc) + static_cast<int>(room.state);
    return room.failure ? room_event::DecodeState::failing : static_cast<room_event::DecodeState>(in_queue);
  }
  return tombstones_.contains(id) ? room_event::DecodeState::tombstone : room_event::DecodeState::unknown;
}

void DecodeRank::update_metrics() {
  parts_.metrics.queue("prealloc", prealloc_.size());
  parts_.metrics.queue("transfer", transfer_.size());
  parts_.metrics.queue("ready", ready_.size());
  parts_.metrics.queue("running", running_.size());
  parts_.metrics.queue("retracted", retracted_.size());
  parts_.metrics.pool(parts_.pool);
}

}  // namespace baton
