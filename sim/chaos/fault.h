// The faults the explorer injects, and the messages they can happen to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton::chaos {

enum class Fault : std::uint8_t {
  // of one message or write
  control_lost,
  control_delayed,    // what follows it on the same way waits behind it
  control_overtaken,  // what follows it passes
  control_duplicated,
  notice_lost,
  notice_delayed,
  notice_overtaken,
  notice_duplicated,
  record_torn,    // a side record whose second half never came: zeros
  write_failed,   // no byte is applied, the writer hears it late
  write_late,     // all bytes are applied late
  write_torn,     // some bytes are applied, then the write fails
  write_unheard,  // all bytes are applied, the notice is lost
  // of a rank or a way, for a time
  crash,        // the rank is gone at once; a new one comes up at its place
  ghost_write,  // a write of a rank that crashed is applied after its death
  freeze,       // nothing of the rank runs, its connections stay open; a router's takes its whole front with it
  partition,    // one way: messages are lost, writes fail
  slow,         // every step of the rank takes longer
  step_failed,  // the engine's step throws
  // of a client
  client_abort,     // asks to end
  client_vanished,  // is destroyed
};
inline constexpr std::size_t kFaults = 21;
const char* to_string(Fault fault) noexcept;
std::optional<Fault> find_fault(std::string_view name) noexcept;

// What travels. Faults of each kind are drawn apart, so that one more message of one kind moves no other's fate.
enum class Traffic : std::uint8_t {
  job,
  landing,
  cancel,
  leg_failed,
  room_events,
  prefill_done,
  heartbeat,
  peers_gone,
  written,
  record,
  failed,
  closed,
  answer,
  write,
};
inline constexpr std::size_t kTraffic = 14;
const char* to_string(Traffic traffic) noexcept;

// Probabilities per message, each in [0, 1]; what is left over is no fault. Delays are uniform in (0, delay_max].
struct MessageRates {
  double lost = 0;
  double delayed = 0;
  double overtaken = 0;
  double duplicated = 0;
  double torn = 0;
  friend bool operator==(const MessageRates&, const MessageRates&) = default;
};
struct WriteRates {
  double failed = 0;
  double late = 0;
  double torn = 0;
  double unheard = 0;
  friend bool operator==(const WriteRates&, const WriteRates&) = default;
};

// A fault that was injected. The key names the message by what it is (kind, request, how many before it), so that it is
// the same message in a run with other requests and other faults left out.
struct InjectedFault {
  std::uint64_t key = 0;  // 0: a timed fault or a client's, which the scenario lists itself
  Fault fault{};
  TimePoint at{};
  std::optional<std::uint32_t> request;
  RankId from{};
  RankId to{};
};

}  // namespace baton::chaos
