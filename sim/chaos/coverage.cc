#include "sim/chaos/coverage.h"

#include <span>
#include <string_view>
#include <unordered_map>

#include "roles/room_event.h"
#include "runtime/check.h"
#include "sim/chaos/name_cache.h"
#include "sim/chaos/unreachable.h"

namespace baton::chaos {
namespace {

using Words = std::span<const char* const>;

// Of an event in its machine's table; most names of a history are no room events.
struct Column {
  bool known = false;
  std::size_t index = 0;
};

// One state machine's table: its cells follow each other, state by state.
struct Machine {
  const char* name;
  Words states;
  Words events;
  std::size_t first = 0;
  std::unordered_map<std::string_view, std::size_t> event_index{};

  Machine(const char* name_in, Words states_in, Words events_in, std::size_t first_in)
      : name(name_in), states(states_in), events(events_in), first(first_in) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      event_index.emplace(events[i], i);
    }
  }
  std::size_t cells() const { return states.size() * events.size(); }
  Column column(std::string_view event) const {
    const auto found = event_index.find(event);
    return found == event_index.end() ? Column{} : Column{true, found->second};
  }
};

struct Machines {
  Machine prefill{"prefill", room_event::kPrefillStates, room_event::kPrefillEvents, 0};
  Machine decode{"decode", room_event::kDecodeStates, room_event::kDecodeEvents, prefill.cells()};
  Machine router{"router", room_event::kRouterStates, room_event::kRouterEvents, decode.first + decode.cells()};

  const Machine& of(Role role) const {
    switch (role) {
      case Role::prefill:
        return prefill;
      case Role::router:
        return router;
      case Role::decode:
      case Role::aggregated:
        return decode;
    }
    return decode;
  }
};

const Machines& machines() {
  static const Machines kMachines;
  return kMachines;
}

}  // namespace

void Coverage::add(const std::vector<TraceEvent>& history) {
  NameCache<Column> prefill;
  NameCache<Column> decode;
  NameCache<Column> router;
  for (const TraceEvent& event : history) {
    const Machine& machine = machines().of(event.rank.role);
    NameCache<Column>& names = &machine == &machines().prefill  ? prefill
                               : &machine == &machines().router ? router
                                                                : decode;
    const Column column = names(event.name, [&machine](std::string_view name) { return machine.column(name); });
    if (column.known && event.a < machine.states.size()) {
      reached.set(machine.first + event.a * machine.events.size() + column.index);
    }
  }
}

const std::vector<CoverageCell>& coverage_cells() {
  static const std::vector<CoverageCell> kCells = [] {
    std::vector<CoverageCell> cells;
    for (const Machine* machine : {&machines().prefill, &machines().decode, &machines().router}) {
      for (const char* state : machine->states) {
        for (const char* event : machine->events) {
          cells.push_back({cells.size(), machine->name, state, event, why_unreachable(machine->name, state, event)});
        }
      }
    }
    BATON_CHECK(cells.size() <= Coverage::kCells, cells.size());
    return cells;
  }();
  return kCells;
}

}  // namespace baton::chaos
