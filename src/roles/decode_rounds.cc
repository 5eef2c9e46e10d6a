// Several decode steps in one call of the engine, where nothing is to be decided in between.
//
// Whatever happens to the rank meanwhile first settles the account: the rooms get the tokens of the rounds that are
// over, the round under way becomes the last, and pages reserved for later ones go back. From then on everything is
// as if the steps had been taken one by one.
#include <algorithm>
#include <utility>

#include "roles/decode.h"
#include "roles/policy/rounds.h"
#include "roles/round_step.h"
#include "runtime/check.h"

namespace baton {
namespace {

policy::RoundCandidate candidate(const DecodeRoom& room) {
  const auto produced = static_cast<std::uint32_t>(room.output.tokens().size());
  return {room.tokens(), room.job.request->stop.max_tokens - produced, room.lease.size()};
}

}  // namespace

// One where a token could change the batch: by ending a request, or by showing that pages are short.
std::uint32_t DecodeRank::rounds_ahead(const std::vector<DecodeRoom*>& rooms,
                                       const std::vector<std::uint32_t>& rows) const {
  if (!parts_.engine.takes_rounds() || config_.steps_in_flight > 1 || config_.retract_every != 0 ||
      !retracted_.empty()) {
    return 1;
  }
  std::vector<policy::RoundCandidate> batch;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    const DecodeRoom& room = *rooms[i];
    const bool plain = rows[i] == 1 && !room.output.tokens().empty() && !room.output.may_end_early() &&
                       !room.job.request->sampling.wants_logprobs();
    if (!plain) {
      return 1;
    }
    batch.push_back(candidate(room));
  }
  if (batch.size() < running_.size()) {
    return 1;  // somebody sits this step out
  }
  return policy::rounds_ahead(batch, parts_.pool.free(), config_.admission.page_tokens);
}

// Takes the pages in the order in which single steps would, so that each sequence gets the same ones.
void DecodeRank::reserve_rounds(RoundStep& step, StepBatch& batch) {
  const std::uint32_t most = step.rounds.most();
  if (most <= 1) {
    return;
  }
  const std::uint32_t page_tokens = config_.admission.page_tokens;
  std::vector<std::pair<std::uint32_t, std::size_t>> wanted;  // before which round, and who
  for (std::size_t i = 0; i < step.rooms.size(); ++i) {
    DecodeRoom& room = *step.rooms[i];
    room.output.reserve();  // the batch refers to its tokens
    const std::uint32_t room_left = room.lease.size() * page_tokens + 1 - room.tokens();  // rounds without a new page
    for (std::uint32_t round = room_left + 1; round <= most; round += page_tokens) {
      wanted.emplace_back(round, i);
    }
  }
  std::ranges::sort(wanted);
  for (const auto& [round, index] : wanted) {
    const bool extended = parts_.pool.extend(step.rooms[index]->lease, 1);
    BATON_CHECK(extended, round, most, parts_.pool.free());
  }
  for (std::size_t i = 0; i < step.rooms.size(); ++i) {
    const DecodeRoom& room = *step.rooms[i];
    batch.sequences[i].tokens = room.next_tokens(1);
    batch.sequences[i].history.output = room.output.tokens();
    batch.sequences[i].pages = room.lease.pages();
  }
  batch.rounds = &step.rounds;
  round_step_ = &step;
}

void DecodeRank::settle_rounds() {
  if (round_step_ == nullptr || !round_step_->rounds.taken()) {
    return;
  }
  RoundStep& step = *round_step_;
  const TimePoint now = parts_.context.now();
  step.rounds.cut(now);
  account(step, std::min(step.rounds.over(now), step.rounds.planned() - 1));  // the last one is end_rounds' business
  const std::uint32_t left = step.rounds.most() - step.accounted;
  for (DecodeRoom* room : step.rooms) {
    parts_.pool.shrink(room->lease,
                       policy::pages_for(std::uint64_t{room->tokens()} + left - 1, config_.admission.page_tokens));
  }
  flush_events();
}

// Gives the rooms the tokens of the rounds up to `rounds`.
void DecodeRank::account(RoundStep& step, std::uint32_t rounds) {
  if (rounds <= step.accounted) {
    return;
  }
  const auto ends = step.ends(rounds);
  for (std::size_t i = 0; i < step.rooms.size(); ++i) {
    if (!step.rooms[i]->failure) {
      accept_tokens(*step.rooms[i], step, i, ends);
    }
  }
  step.accounted = rounds;
}

// The last round is over: who reached its limit has ended.
void DecodeRank::end_rounds(RoundStep& step, const StepResult& result) {
  const std::uint32_t rounds = step.rounds.planned();
  const auto ends = step.ends(rounds);
  steps_ += rounds;
  for (std::size_t i = 0; i < step.rooms.size(); ++i) {
    DecodeRoom& room = *step.rooms[i];
    saw(result.failure ? room_event::kStepFailed : room_event::kStepDone, room.job.room);
    room.busy = false;
    room.in_step = 0;
    if (room.failure) {
      close(room);
    } else if (result.failure) {
      fail(room, *result.failure);
    } else if (!ends->empty() && accept_tokens(room, step, i, ends)) {
      finish(room);
    }
  }
}

// True if the room has all its tokens now.
bool DecodeRank::accept_tokens(DecodeRoom& room, const RoundStep& step, std::size_t index,
                               const std::shared_ptr<const std::vector<TimePoint>>& ends) {
  std::vector<TokenId> ids(ends->size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = step.rounds.token(step.accounted + i, index);
  }
  room.computed += static_cast<std::uint32_t>(ids.size());
  parts_.metrics.tokens(ids.size());
  const bool last = room.output.accept_run(ids);
  saw(last ? room_event::kLastToken : room_event::kToken, room.job.room);
  say(room, TokensEvent(std::move(ids), ends));
  return last;
}

}  // namespace baton
