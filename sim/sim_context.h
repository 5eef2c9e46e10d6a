// SimContext: a Context in virtual time. One context may hold a whole world, or a rank each that share a SimClock.
//
// Time stands still while anything can run and then jumps to the earliest sleeper; see SimClock for the order of
// events. Work handed to other threads (complete_elsewhere) takes no virtual time: the clock waits for all of it, and
// it comes home in the order it left.
#pragma once

#include <memory>
#include <string>

#include "runtime/context.h"
#include "runtime/time.h"
#include "sim/sim_clock.h"

namespace baton {

class SimContext final : public Context {
 public:
  SimContext();                                   // a world of its own
  SimContext(SimClock& clock, std::string name);  // joins the clock's world, which outlives it
  ~SimContext() override;                         // coroutines still suspended are destroyed, newest first

  TimePoint now() const noexcept override { return clock_.now(); }
  boost::asio::execution_context& asio_context() noexcept override { return asio_context_; }
  const std::string& name() const noexcept { return name_; }

  // Runs until nothing is runnable and nobody sleeps, in any context of the clock. Coroutines that live then wait for
  // each other: see deadlocked().
  void run();
  void run_until(TimePoint time) { clock_.run_until(time); }  // as SimClock's
  bool step() { return clock_.step(); }                       // as SimClock's
  bool deadlocked() const { return clock_.deadlocked(); }     // as SimClock's

  // A frozen context stands still as a stopped process does: nothing of it runs and its timers wait, while what others
  // send to it piles up. They all happen, late, after the thaw.
  void freeze(bool on) noexcept { frozen_ = on; }
  bool frozen() const noexcept { return frozen_; }

 private:
  friend class SimClock;

  class AsioContext final : public boost::asio::execution_context {
   public:
    ~AsioContext() { end(); }
    void end() {
      shutdown();
      destroy();
    }
  };

  bool can_run() const noexcept { return !frozen_ && !idle(); }
  void run_one_op();  // REQUIRES can_run()

  // Something may have been sent from elsewhere.
  bool door_rang() const noexcept { return !frozen_ && (errands_out() > 0 || !remote()->empty()); }
  bool let_in();  // what was sent from elsewhere; true if something came. REQUIRES door_rang()
  bool can_go_on() const noexcept;
  TimePoint next_timer() const noexcept { return frozen_ ? kNever : timers().next_time(); }
  void wake_first();
  void bring_errands_home();

  std::unique_ptr<SimClock> own_clock_;
  SimClock& clock_;
  std::string name_;
  AsioContext asio_context_;
  bool frozen_ = false;
};

}  // namespace baton
