// The decode rank's way from a job to the verdict of its hand-over.
#include <utility>

#include <fmt/format.h>

#include "roles/decode.h"
#include "runtime/mutants.h"

namespace baton {

Task<> DecodeRank::admit() {
  for (;;) {
    admit_some();
    update_metrics();
    co_await admission_.wait();
  }
}

// Admits from the head of prealloc what the policy allows with the pages that are free now.
void DecodeRank::admit_some() {
  std::vector<policy::WaitingRequest> waiting;
  std::vector<DecodeRoom*> rooms;
  prealloc_.for_each([&](DecodeRoom* room) {
    rooms.push_back(room);
    waiting.push_back({room->tokens(), room->tokens_max()});
  });
  if (rooms.empty()) {
    return;
  }
  const std::size_t count =
      policy::admit(waiting, active_requests(), retracted_requests(), parts_.pool.free(), config_.admission);
  for (std::size_t i = 0; i < count; ++i) {
    reserve(*rooms[i]);
  }
}

// Takes the prompt's pages. In PD mode it says where they are, so that prefill can write into them.
void DecodeRank::reserve(DecodeRoom& room) {
  std::optional<KvLease> lease = parts_.pool.acquire(parts_.pool.layout().pages_for(room.tokens()));
  BATON_CHECK(lease.has_value(), room.tokens(), parts_.pool.free());
  saw(room_event::kAdmitted, room.job.room);
  room.landed = parts_.context.now();
  if (config_.local_prefill) {
    room.lease = std::move(*lease);
    move(room, DecodeRoom::State::ready);
    return work_.notify();
  }
  room.pages_handed_over = lease->size();
  Expectation expectation(room.job.room, room.job.prefill, std::move(*lease), room.tokens());
  Result<Landing> landing = parts_.receiver->expect(std::move(expectation));
  if (!landing) {
    return fail(room, Failure(static_cast<Errc>(landing.error().value()), to_string(parts_.self.rank),
                              "the hand-over cannot be opened: " + landing.error().message()));
  }
  move(room, DecodeRoom::State::transfer);
  scope_.spawn("transfer " + to_string(room.job.room), await_transfer(room, landing->id));
  parts_.link.post(room.job.prefill.rank, std::move(*landing));
}

// The prebuilt step: the prompt's keys and values are there and so is the first token; no forward pass. Whether that
// token already ends the request is tested now, before it takes a place in the batch.
Task<> DecodeRank::await_transfer(DecodeRoom& room, TransferId id) {
  Arrival arrival = co_await parts_.receiver->arrived(id, room.job.deadline);
  saw(arrival.ok() ? room_event::kVerdictOk : room_event::kVerdictFailed, room.job.room);
  room.verdict = parts_.context.now();
  if (!arrival.ok()) {
    if (!room.failure) {
      room.failure = std::move(arrival.failure);
      parts_.metrics.failure();
      parts_.link.post(room.job.prefill.rank, CancelRoom(room.job.room, *room.failure));
    }
    co_return close(room);
  }
  room.lease = std::move(arrival.lease);
  if (room.failure && !mutant(Mutant::decode_runs_after_abort)) {
    co_return close(room);
  }
  room.computed = room.tokens();
  room.prefill = arrival.record.times;
  room.cached_tokens = arrival.record.cached_tokens;
  room.chunks = arrival.record.times.chunks;
  move(room, DecodeRoom::State::ready);
  accept_token(room, std::move(arrival.record.first));
  flush_events();
  work_.notify();
}

std::vector<policy::ActiveRequest> DecodeRank::active_requests() {
  std::vector<policy::ActiveRequest> active;
  const auto add = [&](const DecodeRoom* room) {
    const std::uint32_t held = room->lease ? room->lease.size() : room->pages_handed_over;
    active.push_back({room->tokens(), room->tokens_max(), held});
  };
  transfer_.for_each(add);
  ready_.for_each(add);
  running_.for_each(add);
  return active;
}

std::vector<policy::ActiveRequest> DecodeRank::retracted_requests() {
  std::vector<policy::ActiveRequest> retracted;
  retracted_.for_each([&](const DecodeRoom* room) { retracted.push_back({room->tokens(), room->tokens_max(), 0}); });
  return retracted;
}

}  // namespace baton
