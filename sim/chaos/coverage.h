// Which pairs of room state and event a run has reached, over the state machines of router, prefill and decode.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/trace.h"

namespace baton::chaos {

struct Coverage {
  static constexpr std::size_t kCells = 1024;  // more than there are pairs

  std::bitset<kCells> reached;

  // Takes in the events of the ranks' history; those that are no room events are left aside.
  void add(const std::vector<TraceEvent>& history);
  Coverage& operator|=(const Coverage& other) {
    reached |= other.reached;
    return *this;
  }
};

// One pair, in words.
struct CoverageCell {
  std::size_t index;
  const char* machine;
  const char* state;
  const char* event;
  const char* why_not;  // null: it can happen
};

// All pairs there are, by machine, state, event.
const std::vector<CoverageCell>& coverage_cells();

}  // namespace baton::chaos
