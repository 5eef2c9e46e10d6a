// Conductor: lets arrivals, ends of steps and writes of pages happen on threads in the order in which a simulation had
// them.
//
//   turns of a simulation --> next turn --> a request arrives, a rank takes in its step, pages are copied
//                                ^                   |
//                                +-- all contexts sleep
//
// Between two turns everything that follows from the first happens: messages between threads, verdicts, admission, the
// next batches. That is over when all contexts sleep at once. Nothing else is imposed: whether a rank has a step to end
// or pages to write at all, and which, is its own doing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "runtime/pulse.h"
#include "runtime/real_context.h"
#include "sim/parity/turns.h"

namespace baton::sim {

class Conductor final : public Gate {
 public:
  void step_began(RankId rank) override;
  Task<> may_end_step(RankId rank) override;
  Task<> may_write(RankId from, RoomId room) override;

  // On a thread of its own, while the cluster runs: all turns, then nobody is held up any more. `arrive` brings the
  // next request. Gives what went otherwise: whose turn came and had no step or write, or had more of them.
  std::optional<std::string> conduct(std::span<const Turn> turns, std::span<RealContext* const> contexts,
                                     const std::function<void()>& arrive);

 private:
  using Place = std::pair<RankId, RoomId>;  // no room: of steps

  // A coroutine that waits for its turn.
  struct Waiting {
    Context* context = nullptr;
    Pulse* turn = nullptr;
  };

  Task<> wait_for_turn(Place place);
  std::optional<std::string> play(std::span<const Turn> turns, const std::function<void()>& arrive);
  bool take(std::unique_lock<std::mutex>& lock, const Turn& turn);
  void wait_until_all_sleep(std::unique_lock<std::mutex>& lock);
  bool all_sleep() const;
  static void release(const Waiting& waiting);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Place, Waiting> waiting_;
  std::set<RankId> in_step_;
  std::span<RealContext* const> contexts_;
  bool over_ = false;  // nobody is held up
};

}  // namespace baton::sim
