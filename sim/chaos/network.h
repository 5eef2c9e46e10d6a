// Network: the ways between ranks in a world under exploration. Messages take time, get lost, overtake each other, come
// twice; ways are cut and mended. It decides by the scenario's seed and by what the message is, never by what happened
// to others, so that leaving one request out changes no other one's fate.
//
// One thread. run() is spawned on the network's own context; messages that take no time do not pass through it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/pulse.h"
#include "runtime/task.h"
#include "sim/chaos/chronicle.h"
#include "sim/chaos/fault.h"
#include "sim/chaos/scenario.h"
#include "sim/sim_context.h"

namespace baton::chaos {

// What shall become of one message or write.
struct Fate {
  std::optional<Fault> fault;
  Duration delay{0};  // of faults that take time
};

class Network final {
 public:
  using Action = std::function<void()>;

  Network(SimContext& context, const Scenario& scenario, Chronicle& chronicle);

  Task<> run();

  // A message sets out. `deliver` runs at its arrival, never, or twice; it must not refer to its sender, which may be
  // dead by then. A record's `deliver_torn` brings half of it.
  // Each copy of the action runs once at most, so it may give away what it holds.
  void send(RankId from, RankId to, Traffic traffic, RoomId room, Action deliver, Action deliver_torn = {});

  // The fate of a write, and its part of the log.
  Fate write_sets_out(RankId from, RankId to, RoomId room);
  Duration latency(RankId from, RankId to) const;  // of a write, as drawn

  void at(TimePoint time, Action action);  // runs on the network's context

  void cut(RankId from, RankId to, bool on) { cuts_[index(from)][index(to)] += on ? 1 : -1; }
  bool is_cut(RankId from, RankId to) const { return !calm_ && cuts_[index(from)][index(to)] > 0; }

  // A dead rank sends nothing; what it sent before may still arrive.
  void set_dead(RankId rank, bool dead) { dead_[index(rank)] = dead; }
  bool is_dead(RankId rank) const { return dead_[index(rank)]; }

  // From now on nothing goes wrong any more; what has been lost stays lost.
  void calm_down() noexcept { calm_ = true; }
  bool calm() const noexcept { return calm_; }

 private:
  static constexpr std::size_t kRanksOfRole = 8;
  static constexpr std::size_t kRanks = 4 * kRanksOfRole;
  static std::size_t index(RankId rank) noexcept {
    return static_cast<std::size_t>(rank.role) * kRanksOfRole + rank.index;
  }
  using Key = std::uint64_t;

  // Which message it is: whose, of what kind, and how many of that kind came before it.
  struct Name {
    std::optional<std::uint32_t> request;
    Traffic traffic{};
    std::uint32_t nth = 0;
    Key key = 0;
  };

  Name next_name(RankId from, RankId to, Traffic traffic, RoomId room);
  Fate decide(const Name& name) const;
  Fate draw(Key key, Traffic traffic) const;
  bool allowed(Key key) const;
  void note(const Name& name, Fault fault, RankId from, RankId to, RoomId room);
  void schedule(TimePoint due, Action action);

  SimContext& context_;
  const Scenario& scenario_;
  Chronicle& chronicle_;
  Pulse changed_;
  // A heap: what is due first in front, those of one instant in the order of scheduling.
  struct Due {
    TimePoint time{};
    std::uint64_t order = 0;
    Action action;
    bool operator<(const Due& other) const noexcept {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  std::vector<Due> due_;
  std::uint64_t scheduled_ = 0;
  std::array<std::array<TimePoint, kRanks>, kRanks> last_due_{};  // keeps messages of one way in order
  std::array<std::array<int, kRanks>, kRanks> cuts_{};
  std::array<bool, kRanks> dead_{};
  std::vector<std::array<std::uint32_t, kTraffic>> counts_;  // by request; the first for those of none
  bool calm_ = false;
};

}  // namespace baton::chaos
