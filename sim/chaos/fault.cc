#include "sim/chaos/fault.h"

namespace baton::chaos {
namespace {

constexpr std::array<const char*, kFaults> kFaultNames{"control_lost",      "control_delayed",
                                                       "control_overtaken", "control_duplicated",
                                                       "notice_lost",       "notice_delayed",
                                                       "notice_overtaken",  "notice_duplicated",
                                                       "record_torn",       "write_failed",
                                                       "write_late",        "write_torn",
                                                       "write_unheard",     "crash",
                                                       "ghost_write",       "freeze",
                                                       "partition",         "slow",
                                                       "step_failed",       "client_abort",
                                                       "client_vanished"};

constexpr std::array<const char*, kTraffic> kTrafficNames{
    "job",        "landing", "cancel", "leg failed", "room events", "prefill done", "heartbeat",
    "peers gone", "written", "record", "failed",     "closed",      "answer",       "write"};

}  // namespace

const char* to_string(Fault fault) noexcept {
  return kFaultNames[static_cast<std::size_t>(fault)];
}

std::optional<Fault> find_fault(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (name == kFaultNames[i]) {
      return static_cast<Fault>(i);
    }
  }
  return std::nullopt;
}

const char* to_string(Traffic traffic) noexcept {
  return kTrafficNames[static_cast<std::size_t>(traffic)];
}

}  // namespace baton::chaos
