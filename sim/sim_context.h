// SimContext: a Context in virtual time. One thread runs all ranks; time stands still while anything can run and then
// jumps to the earliest sleeper.
//
// The order of events is total: the run queue is first in, first out, sleepers go by (time, priority, sequence), each
// followed by everything it makes runnable. So a run is a function of its inputs and seeds. Work handed to other
// threads (complete_elsewhere) takes no virtual time: the clock waits for all of it, and it comes home in the order it
// left.
#pragma once

#include "runtime/context.h"
#include "runtime/time.h"

namespace baton {

class SimContext final : public Context {
 public:
  SimContext() = default;
  ~SimContext() override;  // coroutines still suspended are destroyed, newest first

  TimePoint now() const noexcept override { return now_; }  // starts at zero
  boost::asio::execution_context& asio_context() noexcept override { return asio_context_; }

  // Runs until nothing is runnable and nobody sleeps. Coroutines live then wait for each other: see deadlocked().
  void run();

  // Runs everything up to and including the given time, then sets the clock to it. Never turns the clock back.
  void run_until(TimePoint time);

  // One event: a runnable op, or else the jump to the earliest sleeper. False when there is neither.
  bool step();

  // Nothing can run any more, but coroutines live: wait_report() says who waits for what.
  bool deadlocked() const noexcept { return live() > 0 && idle() && timers().empty() && errands_out() == 0; }

 private:
  class AsioContext final : public boost::asio::execution_context {
   public:
    ~AsioContext() { end(); }
    void end() {
      shutdown();
      destroy();
    }
  };

  bool step_before(TimePoint limit);
  void bring_errands_home();

  AsioContext asio_context_;
  TimePoint now_{};
};

}  // namespace baton
