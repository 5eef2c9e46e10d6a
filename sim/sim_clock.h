// SimClock: virtual time, shared by the contexts of one simulated world.
//
// One thread runs all contexts in turn: each goes on until nothing of its own can run, then the next one does, in the
// order in which they joined. When none can, time jumps to the earliest sleeper. So the order of events is total and a
// run is a function of its inputs and seeds. Several contexts, one a rank, let a rank die or freeze alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/time.h"

namespace baton {

class SimContext;

class SimClock final {
 public:
  SimClock();
  ~SimClock();
  SimClock(const SimClock&) = delete;
  SimClock& operator=(const SimClock&) = delete;

  TimePoint now() const noexcept { return now_; }  // starts at zero

  // One event: a runnable op of some context, or else the jump to the earliest sleeper, if that is not after `limit`.
  // False when there is neither. Time stays where it is then.
  bool step(TimePoint limit = kNever);

  // Runs everything up to and including the given time, then sets the clock to it. Never turns the clock back.
  void run_until(TimePoint time);

  // Coroutines live in some context, but nothing can run, and nobody sleeps but in frozen contexts.
  bool deadlocked() const;

  // Who waits for what and since when, context by context.
  std::string wait_report() const;

 private:
  friend class SimContext;

  bool run_next();
  bool let_others_in();
  SimContext* earliest_sleeper() const;

  struct AsioMemory;

  std::vector<SimContext*> contexts_;  // in order of joining
  std::unique_ptr<AsioMemory> asio_memory_;
  std::size_t turn_ = 0;
  TimePoint now_{};
};

}  // namespace baton
