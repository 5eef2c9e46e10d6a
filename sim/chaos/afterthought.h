// What can be said of a run only when it is over: every room ended once on every leg, soon after its request did, and
// no leg took up a room that it had been told to leave.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/ids.h"
#include "runtime/trace.h"
#include "sim/chaos/chronicle.h"
#include "sim/chaos/report.h"
#include "sim/chaos/scenario.h"

namespace baton::chaos {

// When word of a room reached a rank; filled in by the links.
struct Arrivals {
  std::map<std::pair<RankId, RoomId>, TimePoint> jobs;     // the first one
  std::map<std::pair<RankId, RoomId>, TimePoint> cancels;  // the first one
};

// outcomes: by client's index.
void check_afterwards(const Scenario& scenario, const std::vector<TraceEvent>& history, const Arrivals& arrivals,
                      const std::map<std::uint32_t, ClientOutcome>& outcomes, Chronicle& chronicle);

}  // namespace baton::chaos
