// try_scenario(): one run in a process of its own, and what came of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/explorer/finding.h"

namespace baton::chaos {

struct Trial {
  std::optional<Finding> finding;
  std::uint64_t digest = 0;             // 0 where the process died
  std::vector<std::uint64_t> injected;  // keys of the message faults, ascending; empty where the process died
};

// A process that dies is a finding of the rule "abort", one that takes longer than `limit` of real time "endless".
Trial try_scenario(const RunFunction& run, const Scenario& scenario, std::chrono::nanoseconds limit);

// What a report says, as a finding.
std::optional<Finding> finding_of(const RunReport& report);
Finding endless_finding(std::chrono::nanoseconds limit);

}  // namespace baton::chaos
