// The order of a simulated run: when requests arrived, steps ended and writes of pages were through. Another run that
// lets the same happen in the same order meets the same moments to decide.
#pragma once

#include <optional>
#include <vector>

#include "sim/parity/gate.h"
#include "sim/workload/request.h"

namespace baton::sim {

struct Turn {
  enum class Kind : std::uint8_t { arrival, step, write };

  Kind kind = Kind::arrival;
  RankId rank{};  // whose step ends, or who writes
  RoomId room{};  // whose pages are written
  TimePoint time{};
};

// Notes the turns of a world in virtual time: a gate for its engines and endpoints, and requests on their way. Each
// turn gets a nanosecond of its own, the later of two that fall together waits for the next one; arrivals are as they
// are.
class TurnRecorder final : public Gate, public RequestSource {
 public:
  // The source outlives it.
  explicit TurnRecorder(RequestSource& source) : source_(source) {}

  const std::vector<Turn>& turns() const noexcept { return turns_; }

  void step_began(RankId) override {}
  Task<> may_end_step(RankId rank) override { return note(Turn::Kind::step, rank, {}); }
  Task<> may_write(RankId from, RoomId room) override { return note(Turn::Kind::write, from, room); }

  std::optional<Duration> peek() override { return source_.peek(); }
  std::optional<TraceRequest> next() override;
  void finished(std::uint64_t session, Duration end) override { source_.finished(session, end); }

 private:
  Task<> note(Turn::Kind kind, RankId rank, RoomId room);

  RequestSource& source_;
  std::vector<Turn> turns_;
};

}  // namespace baton::sim
