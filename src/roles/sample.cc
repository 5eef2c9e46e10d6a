#include "roles/sample.h"

#include "roles/router.h"
#include "runtime/check.h"

namespace baton {

Sample::~Sample() {
  if (open_) {
    router_.abandon(room_, Failure(Errc::aborted, "front end", "the client went away"));
  }
}

Task<std::optional<GenerationEvent>> Sample::next() {
  std::optional<GenerationEvent> event = co_await events_.recv();
  if (event && std::holds_alternative<FinishEvent>(*event) && !std::get<FinishEvent>(*event).failure) {
    Timeline& line = std::get<FinishEvent>(*event).timeline;
    const Duration total = context_.now() - arrived_;  // one look at the clock: the stages sum to the total
    line[Stage::deliver] = total - line.total;
    line.total = total;
    router_.delivered(line);
  }
  co_return event;
}

void Sample::abort() noexcept {
  if (open_) {
    router_.abandon(room_, Failure(Errc::aborted, "front end", "the request was aborted"));
  }
}

void Sample::opened(RoomId room, TimePoint now) {
  room_ = room;
  arrived_ = now;
  open_ = true;
}

void Sample::deliver(GenerationEvent event) {
  const bool last = std::holds_alternative<FinishEvent>(event);
  BATON_CHECK(events_.try_send(event), events_.size(), events_.capacity());
  if (last) {
    events_.close();
  }
}

}  // namespace baton
