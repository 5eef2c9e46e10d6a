#include "sim/parity/turns.h"

#include "runtime/context.h"
#include "runtime/sleep.h"

namespace baton::sim {

Task<> TurnRecorder::note(Turn::Kind kind, RankId rank, RoomId room) {
  Context& context = *Context::current();
  while (!turns_.empty() && turns_.back().time >= context.now()) {
    co_await sleep_until(context, turns_.back().time + Duration(1));
  }
  turns_.push_back({kind, rank, room, context.now()});
}

std::optional<TraceRequest> TurnRecorder::next() {
  std::optional<TraceRequest> request = source_.next();
  if (request) {
    turns_.push_back({Turn::Kind::arrival, {}, {}, TimePoint{} + request->arrival});
  }
  return request;
}

}  // namespace baton::sim
