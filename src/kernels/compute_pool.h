// The process's compute threads, shared by all of its ranks.
//
//   rank --submit(decode|prefill, step)--> queue --> a pool thread leads the step, holding a Lane
//                                                     lane.parallel_for(...)  <-- idle pool threads help
//                                                     lane.checkpoint()       --> a due decode step runs in between
//
// Only pool threads compute, so there are never more runnable compute threads than the pool has, however many steps
// are submitted. A thread that neither leads nor helps spins for some 20 us and then sleeps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "kernels/isa.h"
#include "kernels/parallel_job.h"
#include "kernels/scratch.h"

namespace baton::kernels {

enum class Priority : std::uint8_t { decode, prefill };  // decode goes first

class ComputePool;

// The right to compute of one running step. Lives on the pool thread that leads the step; must not leave it.
class Lane final {
 public:
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Calls f(chunk) for chunk in [0, chunks), on this and on idle pool threads, and returns when all have ended. The
  // order and the thread of a chunk are not fixed: f must write to places that belong to its chunk. The first
  // exception of a chunk is rethrown here; chunks not begun by then are skipped. f must not call parallel_for.
  template <class F>
  void parallel_for(unsigned chunks, F&& f) {
    using Function = std::remove_reference_t<F>;
    run(
        chunks, [](void* context, unsigned chunk) { (*static_cast<Function*>(context))(chunk); },
        const_cast<void*>(static_cast<const void*>(std::addressof(f))));
  }

  // To be called between operators. If this step is a prefill and a decode step is due, the decode step runs here and
  // now, nested on this thread. Decode steps never nest.
  void checkpoint();

  // Uninitialised memory, 64-byte aligned, valid until the step ends (or the enclosing ScratchScope).
  std::byte* scratch(std::size_t bytes) { return scratch_.take(bytes); }

  unsigned threads() const noexcept;  // of the pool: how many chunks can run at once
  Isa isa() const noexcept;

 private:
  friend class ComputePool;
  friend class ScratchScope;
  Lane(ComputePool& pool, unsigned thread, bool nested, Priority priority, ParallelJob& job, Scratch& scratch) noexcept
      : pool_(pool), thread_(thread), nested_(nested), priority_(priority), job_(job), scratch_(scratch) {}
  void run(unsigned chunks, ParallelJob::Function function, void* context);

  ComputePool& pool_;
  unsigned thread_;
  bool nested_;
  Priority priority_;
  ParallelJob& job_;
  Scratch& scratch_;
};

// Ends, when it goes, all scratch memory taken from the lane since it came. Operators use it for their own needs.
class ScratchScope final {
 public:
  explicit ScratchScope(Lane& lane) noexcept : scratch_(lane.scratch_), mark_(scratch_.mark()) {}
  ~ScratchScope() { scratch_.release(mark_); }
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  Scratch& scratch_;
  Scratch::Mark mark_;
};

class ComputePool final {
 public:
  using Step = std::function<void(Lane&)>;
  using Done = std::function<void(std::exception_ptr)>;

  // threads 0: what the affinity mask and the cgroup's quota allow. `isa` other than the host's best is for tests.
  explicit ComputePool(unsigned threads = 0, Isa isa = host_isa());
  ~ComputePool();  // runs every submitted step to its end first
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  unsigned threads() const noexcept { return static_cast<unsigned>(workers_.size()); }
  Isa isa() const noexcept { return isa_; }

  // While prefill steps run or wait, a decode step begins no sooner than `share` times the last one's duration after
  // that one's end: prefill has share / (share + 1) of the time and decode cannot starve it. 0: decode begins at the
  // next operator, always. Before the first submit.
  void set_prefill_share(double share) noexcept { prefill_share_ = share; }
  static constexpr double kPrefillShare = 1;  // half of the time each

  // Any thread, never blocks for long. Runs step(lane) on a pool thread, then done(error) there; done must not throw.
  // Steps of one priority start in the order of submission. At most kQueueMax steps may wait: each rank submits one or
  // two, so more is a bug.
  void submit(Priority priority, Step step, Done done);

  static constexpr std::size_t kQueueMax = 4096;

 private:
  friend class Lane;
  struct Pending {
    Step step;
    Done done;
  };
  // Per thread; the second seat is for a decode step nested inside a prefill step.
  struct Seat {
    ParallelJob job;
    std::atomic<Priority> priority{Priority::prefill};
    Scratch scratch;
  };
  struct Worker {
    Seat seats[2];
    std::thread thread;
  };

  bool decode_due() const noexcept;
  bool may_start(Priority priority) const noexcept;
  bool take(Priority lowest, Pending& pending, Priority& priority);
  void lead(unsigned thread, bool nested, Priority priority, Pending pending) noexcept;
  bool lead_waiting(unsigned thread);
  bool help_others();
  bool help_with(Priority priority);
  void publish(unsigned threads_wanted) noexcept;
  void work(unsigned thread);

  const Isa isa_;
  std::mutex mutex_;
  std::deque<Pending> queues_[2];  // by Priority; guarded by mutex_
  std::atomic<bool> stopping_{false};
  double prefill_share_ = kPrefillShare;
  std::atomic<unsigned> prefills_led_{0};
  std::atomic<std::int64_t> decode_due_ns_{0};  // steady clock; when the next decode step may begin beside prefill
  // Copies of the queue lengths for looking without the mutex; a stale value costs a look, never a lost step.
  std::atomic<unsigned> waiting_[2] = {0, 0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // bumped whenever there is something new to do
  std::atomic<std::uint32_t> sleepers_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace baton::kernels
