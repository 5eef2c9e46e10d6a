// Runs for the tests: no world, only what a report of one would say.
#pragma once

#include <csignal>
#include <cstdint>

#include <unistd.h>

#include "runtime/check.h"
#include "sim/explorer/finding.h"

namespace baton::chaos {

inline Scenario scenario_of(std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  return scenario;
}

inline RunReport good_report(const Scenario& scenario) {
  RunReport report;
  report.digest = scenario.seed * 3;
  report.requests = 2;
  report.finished = 1;
  report.failed = 1;
  report.faults[static_cast<std::size_t>(Fault::crash)] = 1;
  report.coverage.reached.set(scenario.seed % Coverage::kCells);
  return report;
}

inline RunReport bad_report(const Scenario& scenario, const char* rule, std::uint32_t request) {
  RunReport report = good_report(scenario);
  report.violation = Violation{rule, "request " + std::to_string(request), TimePoint{}, request, 0};
  return report;
}

[[noreturn]] inline void hang() {
  for (;;) {
    ::pause();
  }
}

}  // namespace baton::chaos
