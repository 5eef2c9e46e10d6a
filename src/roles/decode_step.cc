// The decode rank's batch: from the first token to the last.
#include <algorithm>
#include <utility>

#include "roles/decode.h"
#include "roles/round_step.h"
#include "runtime/mutants.h"

namespace baton {

Task<> DecodeRank::generate() {
  for (;;) {
    if (in_flight_ > 0) {
      co_await parts_.engine.can_begin();
    }
    if (in_flight_ == config_.steps_in_flight) {
      co_await work_.wait();
      continue;
    }
    const bool ahead = config_.plan_ahead && !running_.empty();
    arranging_ = true;
    if (!ahead) {
      co_await take_up();
    }
    co_await make_room();
    std::vector<DecodeRoom*> rooms;
    std::vector<std::uint32_t> rows;
    StepBatch batch = form_step(rooms, rows);
    const std::size_t running = running_.size();
    if (ahead) {
      co_await take_up();
    }
    arranging_ = false;
    if (std::exchange(held_up_, false)) {
      admission_.notify();
    }
    if (rooms.empty()) {
      if (running_.size() == running) {
        co_await work_.wait();
      }
      continue;
    }
    ++in_flight_;
    if (config_.steps_in_flight == 1) {
      co_await take_step(std::move(rooms), std::move(rows), std::move(batch));
    } else {
      scope_.spawn("step", take_step(std::move(rooms), std::move(rows), std::move(batch)));
    }
  }
}

// Who may take part in the next step from now on: retracted ones that come back, then new ones.
Task<> DecodeRank::take_up() {
  co_await resume_retracted();
  if (config_.local_prefill) {
    admit_some();
  }
  join_ready();
}

Task<> DecodeRank::take_step(std::vector<DecodeRoom*> rooms, std::vector<std::uint32_t> rows, StepBatch batch) {
  const TimePoint began = parts_.context.now();
  const std::uint64_t number = steps_;
  parts_.trace.begin(began, parts_.self.rank, "step", number, rooms.size());
  RoundStep step(rooms, rounds_ahead(rooms, rows));
  reserve_rounds(step, batch);
  StepResult result = co_await run_step(parts_.engine, std::move(batch), parts_.self.rank);
  --in_flight_;
  round_step_ = nullptr;
  parts_.trace.end(parts_.context.now(), parts_.self.rank, "step", number);
  if (step.rounds.taken()) {
    const std::uint32_t rounds = step.rounds.planned();
    parts_.metrics.step((parts_.context.now() - began) / rounds, rounds);
    end_rounds(step, result);
  } else {
    ++steps_;
    end_step(rooms, rows, result);
    parts_.metrics.step(parts_.context.now() - began);
  }
  flush_events();
  update_metrics();
  if (config_.steps_in_flight > 1) {
    work_.notify();
  }
}

// What arrived since the last step joins the batch, in order, while there are places.
void DecodeRank::join_ready() {
  while (running_.size() < config_.running_max && !ready_.empty()) {
    DecodeRoom& room = **ready_.front();
    move(room, DecodeRoom::State::running);
    if (!room.joined && !config_.local_prefill) {
      room.joined = parts_.context.now();
    }
  }
}

// Everybody who has pages for the next rows; with even steps in flight, as many as make them equal in size.
// make_room() has extended the leases as far as pages went.
StepBatch DecodeRank::form_step(std::vector<DecodeRoom*>& rooms, std::vector<std::uint32_t>& rows) {
  std::vector<DecodeRoom*> candidates;
  std::vector<std::uint32_t> remaining;
  const std::size_t steps = config_.even_steps ? config_.steps_in_flight : 1;
  const std::size_t share = (running_.size() + steps - 1) / steps;
  running_.for_each([&](DecodeRoom* room) {
    if (room->busy || candidates.size() == share) {
      return;  // of another step, or for one
    }
    const bool has_pages = pages_wanted(*room) == 0;
    candidates.push_back(room);
    remaining.push_back(has_pages && !room->failure ? room->remaining() : 0);
  });
  const std::vector<std::uint32_t> plan = policy::plan_mixed(remaining, config_.step);
  StepBatch batch;
  batch.urgent = !config_.local_prefill || std::all_of(plan.begin(), plan.end(), [](auto n) { return n <= 1; });
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (plan[i] == 0) {
      continue;
    }
    DecodeRoom& room = *candidates[i];
    StepSequence sequence;
    sequence.tokens = room.next_tokens(plan[i]);
    sequence.position = room.computed;
    sequence.arena = parts_.arena.base();
    sequence.pages = room.lease.pages();
    sequence.history.prompt = room.prompt();
    sequence.history.output = room.output.tokens();
    if (sequence.tokens.size() == room.remaining()) {
      const auto produced = static_cast<std::uint32_t>(room.output.tokens().size());
      room.banned = banned_tokens(room.job.request->stop, parts_.rules.end_of_text, produced);
      sequence.sampling = &room.job.request->sampling;
      sequence.banned = room.banned;
    }
    if (config_.local_prefill && room.chunks == 0) {
      room.prefill.waiting_ns = (parts_.context.now() - *room.landed).count();
    }
    room.busy = true;
    room.in_step = static_cast<std::uint32_t>(sequence.tokens.size());
    rooms.push_back(&room);
    rows.push_back(room.in_step);
    batch.sequences.push_back(sequence);
  }
  return batch;
}

void DecodeRank::end_step(const std::vector<DecodeRoom*>& rooms, const std::vector<std::uint32_t>& rows,
                          StepResult& result) {
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    DecodeRoom& room = *rooms[i];
    saw(result.failure ? room_event::kStepFailed : room_event::kStepDone, room.job.room);
    room.busy = false;
    room.in_step = 0;
    if (room.failure) {
      close(room);
      continue;
    }
    if (result.failure) {
      fail(room, *result.failure);
      continue;
    }
    const std::size_t held = result.output.more.empty() ? 0 : result.output.more[i].size();
    const auto computed = rows[i] + static_cast<std::uint32_t>(held);
    room.computed += computed;
    room.chunks += room.output.tokens().empty() ? 1 : 0;
    parts_.metrics.tokens(computed);
    if (config_.local_prefill && room.output.tokens().empty()) {
      keep_prefix(room);
    }
    if (room.computed >= room.again.size()) {
      room.again = {};
    }
    if (result.output.sampled[i]) {
      accept_tokens(room, result.output, i);
    } else if (room.remaining() == 0) {
      fail(room, no_token(parts_.self.rank));
    }
  }
}

// What a step brought a sequence: one token, and the drafts that held. Those behind the last one are not wanted.
void DecodeRank::accept_tokens(DecodeRoom& room, StepOutput& output, std::size_t index) {
  bool over = accept_token(room, std::move(*output.sampled[index]));
  if (output.more.empty()) {
    return;
  }
  for (SampledToken& token : output.more[index]) {
    if (over) {
      return;
    }
    over = accept_token(room, std::move(token));
  }
}

// Takes a token in and ends the room if it was the last one: true, and the room is gone.
bool DecodeRank::accept_token(DecodeRoom& room, SampledToken token) {
  if (config_.local_prefill && room.output.tokens().empty()) {
    room.verdict = parts_.context.now();
    room.joined = room.verdict;
    room.prefill.compute_ns = (*room.verdict - *room.landed).count() - room.prefill.waiting_ns;
  }
  Output::Step step = room.output.accept(std::move(token));
  saw(step.finished ? room_event::kLastToken : room_event::kToken, room.job.room);
  if (step.token) {
    say(room, std::move(*step.token));
  }
  const bool untested = room.output.tokens().size() == 1 && mutant(Mutant::decode_skips_first_token_test);
  if (!step.finished || untested) {
    return false;
  }
  finish(room);
  return true;
}

// Tells the router with the next flush.
void DecodeRank::say(DecodeRoom& room, GenerationEvent event) {
  events_[room.job.router].emplace_back(room.job.room, room.events++, std::move(event));
}

void DecodeRank::flush_events() {
  for (auto& [router, events] : std::exchange(events_, {})) {
    parts_.link.post_router(router, RoomEvents(std::move(events)));
  }
}

}  // namespace baton
