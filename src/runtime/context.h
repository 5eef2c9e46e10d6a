// Context: the seam between baton and whatever runs it. A run queue, timers, a clock, and a door for other threads.
//
// RealContext (steady clock, sockets, one per rank and thread) and sim/SimContext (virtual time, one for all ranks)
// derive from it; coroutines see only this. One thread runs a context at a time; whatever is not marked "any thread"
// belongs to that thread, or to the thread that sets things up while nobody runs it.
//
//   other threads -> RemoteQueue --+
//   timers (time, priority, seq) --+--> run queue (first in, first out) --> coroutines --> wait lists of channels, ...
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/executor.h"
#include "runtime/op.h"
#include "runtime/remote_queue.h"
#include "runtime/time.h"
#include "runtime/timer_heap.h"
#include "runtime/waiter.h"

namespace baton {

class Context {
 public:
  // While it lives this thread counts as running the context. RAII; restores what was before. The run loops use it,
  // and setting-up code that must act as if inside. Fails a check if another thread runs the context.
  class Inside final {
   public:
    explicit Inside(Context& context) noexcept;
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside();

   private:
    Context& context_;
    Context* outer_;
    bool nested_;
  };

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  virtual ~Context();

  virtual TimePoint now() const noexcept = 0;
  virtual boost::asio::execution_context& asio_context() noexcept = 0;

  Executor executor() noexcept { return {this, nullptr, true}; }

  // Any thread. True on the thread that runs this context just now.
  bool running_here() const noexcept { return current() == this; }

  // Any thread. The context that this thread runs just now, or null.
  static Context* current() noexcept;

  // Any thread: queues the function to run on the context, never at once. It is dropped, destroyed unrun, if the
  // context ends first. An exception it throws leaves run(). The context must outlive the call, not the function.
  template <class Function>
  void post(Function function) {
    submit(new FunctionOp<Function>(std::move(function)));
  }

  // Coroutines that a Scope has started on this context and that have not ended.
  std::size_t live() const noexcept { return live_; }

  // Who waits for what and since when, one line per suspended coroutine, oldest coroutine first.
  std::string wait_report() const;

  // Destroys every coroutine suspended in baton's own waits, newest first (so children go before parents), resuming
  // none. For owners that give up on a context: afterwards live() is 0 and channels have no waiters. The destructors
  // of what the coroutines held do run, so what these refer to must still be there. Not while the context runs.
  void destroy_coroutines() noexcept;

  // --- for the primitives of this folder -----------------------------------------------------------------------

  OpPool& pool() noexcept { return pool_; }
  const std::shared_ptr<RemoteQueue>& remote() const noexcept { return remote_; }

  // Any thread: takes the op over.
  void submit(Op* op);

  // Suspends: registers the waiter under a verb and the name of the place (null for a sleep).
  void park(Waiter& waiter, const char* action, const std::string* place) noexcept;
  void arm(Waiter& waiter, TimePoint time, unsigned priority) { timers_.arm(waiter, time, priority); }

  // Ends a wait, or one that need not begin: takes the waiter out of all lists and queues its coroutine to go on.
  void end_wait(Waiter& waiter, WaitEnd end) noexcept;

  // A place with a wait list is being destroyed: nobody may be waiting there while the context runs; when it does not
  // run, all coroutines are destroyed, since those who wait here can never go on. Where nobody waits the context is not
  // touched: it may be gone.
  static void place_ends(Context& context, WaitList& waiters, const std::string& name) noexcept;

  // Fails a check when the calling thread may not touch what belongs to this context.
  void check_owner() const noexcept;

  bool destroying() const noexcept { return destroying_; }  // inside destroy_coroutines()

  std::uint64_t next_task_sequence() noexcept { return ++task_sequence_; }
  void task_started() noexcept { ++live_; }
  void task_ended() noexcept { --live_; }

  // Completions that other threads still owe (complete_elsewhere), and the order in which they were asked for.
  std::uint64_t errand_leaves() noexcept {
    ++errands_out_;
    return ++errand_order_;
  }
  void errand_returns() noexcept { --errands_out_; }

 protected:
  Context();

  // For the run loops.
  bool run_one();  // one op of the run queue; false if there was none
  bool idle() const noexcept { return ready_.empty(); }
  void take_remote() noexcept;  // moves what other threads pushed to the run queue
  void push_ready(Op* op) noexcept { ready_.push(op); }
  void expire_front() noexcept;  // the earliest timer has come
  const TimerHeap& timers() const noexcept { return timers_; }
  std::size_t errands_out() const noexcept { return errands_out_; }
  void close_remote() noexcept;  // last step of destruction

 private:
  void destroy_ready() noexcept;
  void destroy_waiter(Waiter& waiter) noexcept;
  void put_newest_first() noexcept;

  OpPool pool_;
  OpQueue ready_;
  TimerHeap timers_;
  WaiterList<InRegister> waiters_;
  std::shared_ptr<RemoteQueue> remote_;
  std::size_t live_ = 0;
  std::size_t errands_out_ = 0;
  std::uint64_t errand_order_ = 0;
  std::uint64_t task_sequence_ = 0;
  bool destroying_ = false;
  std::atomic<bool> running_{false};
};

}  // namespace baton
