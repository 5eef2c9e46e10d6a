// The computing half of the prefill rank: forms steps from the waiting queue and takes their results in.
#include <algorithm>
#include <utility>

#include "model/kv/prefix_keys.h"
#include "roles/prefill.h"
#include "roles/run_step.h"
#include "runtime/mutants.h"

namespace baton {

Task<> PrefillRank::compute() {
  for (;;) {
    if (in_flight_ > 0) {
      co_await parts_.engine.can_begin();
    }
    std::vector<PrefillRoom*> rooms;
    StepBatch batch = in_flight_ < config_.steps_in_flight ? form_step(rooms) : StepBatch();
    if (rooms.empty()) {
      co_await work_.wait();
      continue;
    }
    ++in_flight_;
    if (config_.steps_in_flight == 1) {
      co_await take_step(std::move(rooms), std::move(batch));
    } else {
      scope_.spawn("step", take_step(std::move(rooms), std::move(batch)));
    }
  }
}

Task<> PrefillRank::take_step(std::vector<PrefillRoom*> rooms, StepBatch batch) {
  std::vector<std::uint32_t> rows;
  for (const StepSequence& sequence : batch.sequences) {
    rows.push_back(static_cast<std::uint32_t>(sequence.tokens.size()));
  }
  const TimePoint began = parts_.context.now();
  const std::uint64_t number = ++steps_;
  parts_.trace.begin(began, parts_.self.rank, "step", number, rooms.size());
  StepResult result = co_await run_step(parts_.engine, std::move(batch), parts_.self.rank);
  --in_flight_;
  if (result.failure) {
    step_failed(rooms, *result.failure);
  } else {
    end_step(rooms, rows, result.output);
  }
  parts_.trace.end(parts_.context.now(), parts_.self.rank, "step", number);
  parts_.metrics.step(parts_.context.now() - began);
  update_metrics();
  if (config_.steps_in_flight > 1) {
    work_.notify();
  }
}

// Takes prompts in order of arrival of their landings. One that waits for pages of its own holds up those behind it:
// nobody is overtaken for ever. Those behind a full step get no pages yet: until their turn comes, the cache may have
// more of their prefix.
StepBatch PrefillRank::form_step(std::vector<PrefillRoom*>& rooms) {
  std::vector<PrefillRoom*> candidates;
  std::vector<std::uint32_t> remaining;
  std::uint64_t tokens = 0;
  waiting_.find_if([&](PrefillRoom* room) {
    if (room->failure || room->in_step) {
      return false;
    }
    const bool held_up = !inflight_.empty() && mutant(Mutant::prefill_waits_for_answers);
    if (held_up || !find_pages(*room)) {
      return true;
    }
    candidates.push_back(room);
    remaining.push_back(room->remaining());
    tokens += room->remaining();
    return tokens >= config_.step.step_tokens || candidates.size() >= config_.step.step_sequences;
  });
  StepBatch batch;
  for (const policy::PrefillChunk& chunk : policy::plan_prefill(remaining, config_.step)) {
    PrefillRoom& room = *candidates[chunk.index];
    StepSequence sequence;
    sequence.tokens = room.prompt().subspan(room.computed, chunk.tokens);
    sequence.position = room.computed;
    sequence.arena = room.arena;
    sequence.pages = room.pages;
    sequence.history.prompt = room.prompt();
    if (chunk.tokens == room.remaining()) {
      sequence.sampling = &room.job.request->sampling;
      sequence.banned = room.banned;
    }
    batch.sequences.push_back(sequence);
    rooms.push_back(&room);
    room.in_step = true;
    if (room.chunks == 0) {
      room.first_step = parts_.context.now();
    }
  }
  return batch;
}

// True if the room has pages to compute into, after taking them from the rank's own pool if need be. What the cache has
// of its prefix is computed already, and can be sent.
bool PrefillRank::find_pages(PrefillRoom& room) {
  if (room.arena != nullptr) {
    return true;
  }
  const KvLayout& layout = parts_.pool->layout();
  const std::span<const std::uint64_t> prefix = room.job.request->prefix;
  const std::uint32_t reusable = reusable_pages(prefix.size(), room.prompt_tokens(), layout.page_tokens);
  std::optional<KvLease> lease = parts_.pool->acquire(layout.pages_for(room.prompt_tokens()), prefix.first(reusable));
  if (!lease) {
    return false;
  }
  room.lease = std::move(*lease);
  room.pages.assign(room.lease.pages().begin(), room.lease.pages().end());
  room.arena = parts_.arena->base();
  room.cached = room.computed = room.lease.found() * layout.page_tokens;
  if (mutant(Mutant::prefill_keeps_uncomputed)) {
    keep_prefix(room);
  }
  if (room.cached > 0) {
    note("cached", room.job.room, room.cached, room.prompt_tokens());
    room.progress.notify();
  }
  return true;
}

// The whole prompt is computed, in pages of the rank's own: its whole pages may serve others from now on.
void PrefillRank::keep_prefix(PrefillRoom& room) {
  if (room.lease && !room.failure) {
    const std::span<const std::uint64_t> prefix = room.job.request->prefix;
    const std::size_t whole = room.prompt_tokens() / parts_.pool->layout().page_tokens;
    parts_.pool->keep(room.lease, prefix.first(std::min(prefix.size(), whole)));
  }
}

void PrefillRank::end_step(const std::vector<PrefillRoom*>& rooms, const std::vector<std::uint32_t>& rows,
                           StepOutput& output) {
  const TimePoint now = parts_.context.now();
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    PrefillRoom& room = *rooms[i];
    saw(room.remaining() == rows[i] ? room_event::kLastChunk : room_event::kStepDone, room.job.room);
    room.in_step = false;
    room.computed += rows[i];
    room.chunks += 1;
    room.finished = now;
    note("computed", room.job.room, room.computed, room.prompt_tokens());
    parts_.metrics.tokens(rows[i]);
    if (room.remaining() == 0) {
      if (!output.sampled[i]) {
        fail(room, no_token(parts_.self.rank));
        room.progress.notify();
        continue;
      }
      keep_prefix(room);
      room.first = std::move(*output.sampled[i]);
      move(room, PrefillRoom::State::inflight);
    }
    room.progress.notify();
  }
}

void PrefillRank::step_failed(const std::vector<PrefillRoom*>& rooms, const Failure& failure) {
  for (PrefillRoom* room : rooms) {
    saw(room_event::kStepFailed, room->job.room);
    room->in_step = false;
    fail(*room, failure);
    room->progress.notify();
  }
}

}  // namespace baton
