// The sending half of the prefill rank: one task a room, from its landing to its end.
#include <utility>

#include "roles/prefill.h"
#include "runtime/mutants.h"

namespace baton {

// Pushes whatever has its final bytes while later chunks are being computed, then the record, then waits for the
// target to have counted everything. On failure it still waits for a step that is writing the pages.
Task<> PrefillRank::send_room(PrefillRoom& room) {
  for (;;) {
    if (room.failure && !room.in_step) {
      break;
    }
    const std::uint32_t ready = room.final_pages(parts_.engine.kv_layout().page_tokens);
    Result<> sent;
    if (room.failure) {
      co_await room.progress.wait();
    } else if (ready > room.pushed_pages) {
      sent = co_await push_pages(room, ready);
    } else if (room.first) {
      sent = co_await finish_room(room);
      if (sent) {
        break;
      }
    } else {
      co_await room.progress.wait();
    }
    if (!sent) {
      fail(room, room.outgoing->failure().value_or(Failure(static_cast<Errc>(sent.error().value()),
                                                           to_string(parts_.self.rank), "the hand-over failed")));
    }
  }
  close(room);
}

Task<Result<>> PrefillRank::push_pages(PrefillRoom& room, std::uint32_t ready) {
  const std::span<const PageId> source = std::span(room.pages).subspan(room.pushed_pages, ready - room.pushed_pages);
  Result<> pushed = co_await room.outgoing->push(room.pushed_pages - room.landing_page, source, room.arena);
  saw(pushed ? room_event::kPushed : room_event::kPushFailed, room.job.room);
  if (pushed) {
    room.pushed_pages = ready;
    note("pushed", room.job.room, ready, room.pages.size());
  }
  co_return pushed;
}

Task<Result<>> PrefillRank::finish_room(PrefillRoom& room) {
  PrefillTimes times;
  times.waiting_ns = (room.first_step - room.landed).count();
  times.compute_ns = (room.finished - room.first_step).count();
  times.pushing_ns = (parts_.context.now() - room.finished).count();
  times.chunks = room.chunks;
  if (room.lease) {  // not computed in place
    times.copied_bytes = std::uint64_t{room.pushed_pages - room.landing_page} * parts_.engine.kv_layout().page_bytes();
  }
  SideRecord record(room.prompt_tokens(), *room.first, room.cached, times);
  const TimePoint deadline = mutant(Mutant::prefill_ignores_deadline) ? kNever : room.job.deadline;
  Result<> finished = co_await room.outgoing->finish(std::move(record), deadline);
  saw(finished ? room_event::kAnswered : room_event::kUnanswered, room.job.room);
  co_return finished;
}

}  // namespace baton
