// The way of one request through the ranks, from the history of a run, for a person and for Perfetto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/chaos/report.h"

namespace baton::chaos {

// The events of a request's rooms, and the faults of ranks, which concern everybody; without a request all events.
std::vector<TraceEvent> events_of(const RunReport& report, std::optional<std::uint32_t> request);

// One line an event: milliseconds, rank, what happened, whose request, which room, and the state that the room was in
// or the event's values. Faults stand out by "!!" at the beginning. `rooms` is RunReport::rooms.
std::string timeline_text(const std::vector<TraceEvent>& events,
                          const std::vector<std::pair<std::uint64_t, std::uint32_t>>& rooms);

}  // namespace baton::chaos
