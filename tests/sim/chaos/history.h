// Questions to the history of a run that was played with keep_history.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/ids.h"
#include "runtime/trace.h"
#include "sim/chaos/report.h"

namespace baton::chaos {

// Whether an event is about the request's room.
inline bool concerns(const RunReport& report, const TraceEvent& event, std::uint32_t request) {
  return std::ranges::any_of(report.rooms,
                             [&](const auto& room) { return room.first == event.id && room.second == request; });
}

// The events of that name at that rank, in order; of one request, or of all.
inline std::vector<TraceEvent> events_of(const RunReport& report, RankId rank, std::string_view name) {
  std::vector<TraceEvent> found;
  std::ranges::copy_if(report.history, std::back_inserter(found),
                       [&](const TraceEvent& event) { return event.rank == rank && event.name == name; });
  return found;
}
inline std::vector<TraceEvent> events_of(const RunReport& report, RankId rank, std::string_view name,
                                         std::uint32_t request) {
  std::vector<TraceEvent> found = events_of(report, rank, name);
  std::erase_if(found, [&](const TraceEvent& event) { return !concerns(report, event, request); });
  return found;
}

// When the rank forgot the request's room; kNever if it never did, or never had it.
inline TimePoint over_at(const RunReport& report, RankId rank, std::uint32_t request) {
  const std::vector<TraceEvent> ends = events_of(report, rank, "over", request);
  return ends.empty() ? kNever : ends.back().time;
}

inline constexpr RankId kPrefill{Role::prefill, 0};
inline constexpr RankId kDecode{Role::decode, 0};

}  // namespace baton::chaos
