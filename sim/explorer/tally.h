// Tally: what the runs so far add up to, and how a person reads it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/chaos/coverage.h"
#include "sim/chaos/fault.h"
#include "sim/chaos/report.h"

namespace baton::chaos {

struct Tally {
  std::uint64_t seeds = 0;
  std::uint64_t requests = 0;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::array<std::uint64_t, kFaults> faults{};
  Coverage coverage;

  void add(const RunReport& report);
};

// One line: seeds done and to do, seeds/s, requests, faults in short, pairs of state and event reached.
std::string progress_text(const Tally& tally, std::uint64_t total, double seconds);

// Several lines, with the faults by kind.
std::string summary_text(const Tally& tally, double seconds);

// 950, "12.3k", "4.56M".
std::string short_count(std::uint64_t count);

// By machine and state, which events have met it and which have not; the totals below.
std::string coverage_text(const Coverage& coverage);
std::size_t cells_reached(const Coverage& coverage);
std::size_t cells_possible();  // those that nothing keeps from happening

}  // namespace baton::chaos
