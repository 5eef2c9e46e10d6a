// What a run of the explorer found.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "roles/generation.h"
#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/time.h"
#include "runtime/trace.h"
#include "sim/chaos/coverage.h"
#include "sim/chaos/fault.h"

namespace baton::chaos {

// A rule of the design that did not hold.
struct Violation {
  std::string rule;     // a short constant name: "terminal", "deadline", "page", "tokens", "drained", ...
  std::string message;  // with the numbers
  TimePoint at{};
  std::optional<std::uint32_t> request;  // ClientPlan::index
  std::uint64_t room = 0;                // of the request, if known
};

// What one client saw. Times are kNever where it did not come to that.
struct ClientOutcome {
  std::vector<TokenId> tokens;
  std::optional<Failure> failure;
  bool ended = false;  // it saw its end; false: it vanished, or the run ended before
  FinishReason reason = FinishReason::failure;
  TimePoint began = kNever;
  TimePoint first_token = kNever;
  TimePoint gone = kNever;  // its end was there, or it gave up without

  bool ok() const noexcept { return ended && !failure; }
};

struct RunReport {
  std::optional<Violation> violation;  // the first one
  std::uint64_t digest = 0;            // of the whole event log
  std::uint64_t events = 0;            // in it
  std::uint32_t requests = 0;
  std::uint32_t finished = 0;
  std::uint32_t failed = 0;
  std::array<std::uint64_t, kFaults> faults{};  // injected, by kind
  std::vector<InjectedFault> injected;
  std::map<std::uint32_t, ClientOutcome> outcomes;  // by ClientPlan::index, the last requests of the world included
  Coverage coverage;
  std::vector<TraceEvent> history;                             // with RunOptions::keep_history
  std::vector<std::pair<std::uint64_t, std::uint32_t>> rooms;  // with keep_history: room ids and whose they were
  Duration virtual_time{0};
};

}  // namespace baton::chaos
