// Chronicle: what a run writes down. The first broken rule, the faults injected, and a digest of every message.
//
// One run, one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/ids.h"
#include "runtime/trace.h"
#include "sim/chaos/fault.h"
#include "sim/chaos/report.h"
#include "sim/sim_clock.h"

namespace baton::chaos {

class Chronicle final {
 public:
  Chronicle(const SimClock& clock, std::size_t trace_events) : clock_(clock), trace_(trace_events) {}

  // The first one counts, the run ends soon after.
  void blame(const char* rule, std::string message, RoomId room = {});
  void blame_request(const char* rule, std::string message, std::uint32_t request);
  const std::optional<Violation>& violation() const noexcept { return violation_; }

  void injected(const InjectedFault& fault, RoomId room = {});
  const std::vector<InjectedFault>& faults() const noexcept { return faults_; }
  const std::array<std::uint64_t, kFaults>& fault_counts() const noexcept { return fault_counts_; }

  // A message or write as it left; part of the digest, and of the history where that is kept.
  void sent(RankId from, RankId to, Traffic traffic, RoomId room);
  std::uint64_t digest() const noexcept { return digest_; }
  std::uint64_t messages() const noexcept { return messages_; }
  const EventTrace& trace() const noexcept { return trace_; }

  // Whose request a room is.
  void room_of(RoomId room, std::uint32_t request) { requests_.emplace(room, request); }
  std::optional<std::uint32_t> request_of(RoomId room) const;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> rooms() const;  // ascending

  TimePoint now() const noexcept { return clock_.now(); }

 private:
  const SimClock& clock_;
  EventTrace trace_;
  std::optional<Violation> violation_;
  std::vector<InjectedFault> faults_;
  std::array<std::uint64_t, kFaults> fault_counts_{};
  std::unordered_map<RoomId, std::uint32_t> requests_;
  std::uint64_t digest_ = 0;
  std::uint64_t messages_ = 0;
};

// Folds a number into a digest. Order matters.
std::uint64_t fold(std::uint64_t digest, std::uint64_t value) noexcept;

}  // namespace baton::chaos
