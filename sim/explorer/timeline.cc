#include "sim/explorer/timeline.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/chaos/fault.h"

namespace baton::chaos {
namespace {

std::string milliseconds_text(TimePoint time) {
  const std::int64_t count = time.time_since_epoch().count();
  return fmt::format("{}.{:06}", count / 1'000'000, count % 1'000'000);
}

const char* phase_text(TraceEvent::Phase phase) {
  switch (phase) {
    case TraceEvent::Phase::begin:
      return " begins";
    case TraceEvent::Phase::end:
      return " ends";
    case TraceEvent::Phase::instant:
      return "";
  }
  return "";
}

// What a fault's record says in its two values: the rank at the other end.
std::string fault_text(const TraceEvent& event) {
  const RankId to{static_cast<Role>(event.a), static_cast<std::uint32_t>(event.b)};
  return to == event.rank ? std::string() : "to " + to_string(to);
}

}  // namespace

std::vector<TraceEvent> events_of(const RunReport& report, std::optional<std::uint32_t> request) {
  if (!request) {
    return report.history;
  }
  std::set<std::uint64_t> rooms;
  for (const auto& [room, owner] : report.rooms) {
    if (owner == *request) {
      rooms.insert(room);
    }
  }
  std::vector<TraceEvent> events;
  for (const TraceEvent& event : report.history) {
    const bool of_all = event.id == 0 && find_fault(event.name);
    if (of_all || rooms.contains(event.id)) {
      events.push_back(event);
    }
  }
  return events;
}

std::string timeline_text(const std::vector<TraceEvent>& events) {
  std::string text;
  for (const TraceEvent& event : events) {
    const bool fault = find_fault(event.name).has_value();
    const std::string name = std::string(event.name) + phase_text(event.phase);
    const std::string room = event.id == 0 ? std::string() : fmt::format("{:016x}", event.id);
    const std::string values = fault ? fault_text(event) : fmt::format("{} {}", event.a, event.b);
    std::string line = fmt::format("{} {:>12} ms  {:<13} {:<28} {:<16}  {}", fault ? "!!" : "  ",
                                   milliseconds_text(event.time), to_string(event.rank), name, room, values);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace baton::chaos
