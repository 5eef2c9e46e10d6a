#include "sim/explorer/timeline.h"

#include <map>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "roles/room_event.h"
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

std::span<const char* const> states_of(Role role) {
  switch (role) {
    case Role::router:
      return room_event::kRouterStates;
    case Role::prefill:
      return room_event::kPrefillStates;
    case Role::decode:
      return room_event::kDecodeStates;
    case Role::aggregated:  // has rooms of both kinds
      break;
  }
  return {};
}

std::string values_text(const TraceEvent& event) {
  const std::span<const char* const> states = states_of(event.rank.role);
  if (std::string_view(event.name).starts_with("on ") && event.a < states.size()) {
    return fmt::format("was {}", states[event.a]);
  }
  return fmt::format("{} {}", event.a, event.b);
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
    const std::optional<Fault> fault = find_fault(event.name);
    const bool of_all = event.id == 0 && fault && *fault >= Fault::crash;
    if (of_all || rooms.contains(event.id)) {
      events.push_back(event);
    }
  }
  return events;
}

std::string timeline_text(const std::vector<TraceEvent>& events,
                          const std::vector<std::pair<std::uint64_t, std::uint32_t>>& rooms) {
  const std::map<std::uint64_t, std::uint32_t> requests(rooms.begin(), rooms.end());
  std::string text;
  for (const TraceEvent& event : events) {
    const bool fault = find_fault(event.name).has_value();
    const std::string name = std::string(event.name) + phase_text(event.phase);
    const auto request = requests.find(event.id);
    const std::string whose = request == requests.end() ? std::string() : fmt::format("#{}", request->second);
    const std::string room = request == requests.end() ? std::string() : fmt::format("{:016x}", event.id);
    std::string line =
        fmt::format("{} {:>12} ms  {:<13} {:<20} {:<5} {:<16}  {}", fault ? "!!" : "  ", milliseconds_text(event.time),
                    to_string(event.rank), name, whose, room, fault ? fault_text(event) : values_text(event));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace baton::chaos
