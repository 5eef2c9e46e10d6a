// The decode rank's way from a job to the verdict of its hand-over.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/kv/prefix_keys.h"
#include "roles/decode.h"
#include "runtime/mutants.h"

namespace baton {

// A rank that computes prompts itself admits as it makes up a step (take_up), and is only woken from here.
Task<> DecodeRank::admit() {
  for (;;) {
    if (arranging_) {
      held_up_ = true;  // copies to and from host memory take their time
    } else if (!config_.local_prefill) {
      admit_some();
    } else if (!prealloc_.empty()) {
      settle_rounds();
      work_.notify();
    }
    update_metrics();
    co_await admission_.wait();
  }
}

// A place in the batch and rows in the next step, where prompts are computed here.
bool DecodeRank::may_admit() {
  if (!config_.local_prefill) {
    return true;
  }
  if (ready_.size() + running_.size() >= config_.running_max) {
    return false;
  }
  std::uint64_t uncomputed = 0;
  std::uint32_t singles = 0;
  const auto add = [&](const DecodeRoom* room) {
    const std::uint32_t rows = room->remaining_next();
    singles += rows == 1 ? 1 : 0;
    uncomputed += rows > 1 ? rows : 0;
  };
  running_.for_each(add);
  ready_.for_each(add);
  return !policy::step_is_full(uncomputed, singles, config_.step.step_tokens);
}

// Admits from the head of prealloc, one after the other, what the policy allows with the pages that are left.
void DecodeRank::admit_some() {
  if (prealloc_.empty() || !may_admit()) {
    return;
  }
  settle_rounds();
  std::vector<policy::ActiveRequest> active = active_requests();
  const std::vector<policy::ActiveRequest> retracted = retracted_requests();
  while (!prealloc_.empty() && may_admit()) {
    DecodeRoom& room = **prealloc_.front();
    const std::uint32_t shared = parts_.pool.found_in_use(reusable_prefix(room));
    const policy::WaitingRequest head{room.tokens(), room.tokens_max(), shared};
    if (policy::admit({&head, 1}, active, retracted, parts_.pool.available(), config_.admission) == 0) {
      return;
    }
    active.push_back({room.tokens(), room.tokens_max(), parts_.pool.layout().pages_for(room.tokens())});
    reserve(room);
  }
}

// The names of those pages of the prompt that a cache in this rank's pool may give; none without one.
std::span<const std::uint64_t> DecodeRank::reusable_prefix(const DecodeRoom& room) const {
  const std::span<const std::uint64_t> prefix = room.job.request->prefix;
  return prefix.first(reusable_pages(prefix.size(), room.tokens(), parts_.pool.layout().page_tokens));
}

// Of the prompt, what is computed, here or by prefill: its whole pages may serve others from now on.
void DecodeRank::keep_prefix(DecodeRoom& room) {
  const std::span<const std::uint64_t> prefix = room.job.request->prefix;
  const std::size_t whole = room.computed / parts_.pool.layout().page_tokens;
  parts_.pool.keep(room.lease, prefix.first(std::min(prefix.size(), whole)));
}

// Takes the prompt's pages. In PD mode it says where they are, so that prefill can write into them.
void DecodeRank::reserve(DecodeRoom& room) {
  std::optional<KvLease> lease =
      parts_.pool.acquire(parts_.pool.layout().pages_for(room.tokens()), reusable_prefix(room));
  BATON_CHECK(lease.has_value(), room.tokens(), parts_.pool.available());
  saw(room_event::kAdmitted, room.job.room);
  room.landed = parts_.context.now();
  if (config_.local_prefill) {
    room.lease = std::move(*lease);
    room.cached_tokens = room.computed = room.lease.found() * parts_.pool.layout().page_tokens;
    move(room, DecodeRoom::State::ready);
    return work_.notify();
  }
  room.pages_handed_over = lease->size() - lease->found();
  const std::uint32_t found = lease->found();
  Expectation expectation(room.job.room, room.job.prefill, std::move(*lease), room.tokens(),
                          found * parts_.pool.layout().page_tokens);
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
  settle_rounds();
  room.computed = room.tokens();
  keep_prefix(room);
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
    const std::uint32_t held = room->lease ? room->lease.size() : parts_.pool.layout().pages_for(room->tokens());
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
