// The way of one request through the ranks, from the history of a run, for a person and for Perfetto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/chaos/report.h"

namespace baton::chaos {

// The events of a request's rooms, and the faults of ranks, which concern everybody; without a request all events.
std::vector<TraceEvent> events_of(const RunReport& report, std::optional<std::uint32_t> request);

// One line an event: milliseconds, rank, what happened, room, values. Faults stand out by "!!" at the beginning.
std::string timeline_text(const std::vector<TraceEvent>& events);

}  // namespace baton::chaos
