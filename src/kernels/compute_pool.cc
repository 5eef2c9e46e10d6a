#include "kernels/compute_pool.h"

#include <chrono>
#include <utility>

#include "kernels/cpu_count.h"
#include "kernels/parking.h"
#include "runtime/check.h"

namespace baton::kernels {
namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Lane::run(unsigned chunks, ParallelJob::Function function, void* context) {
  if (chunks <= 1 || pool_.threads() == 1) {
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      function(context, chunk);
    }
    return;
  }
  job_.begin(function, context, chunks);
  pool_.publish(chunks - 1);
  job_.finish();
}

void Lane::checkpoint() {
  if (nested_ || priority_ == Priority::decode) {
    return;
  }
  ComputePool::Pending pending;
  Priority priority = Priority::decode;
  if (pool_.take(Priority::decode, pending, priority)) {
    pool_.lead(thread_, true, priority, std::move(pending));
  }
}

unsigned Lane::threads() const noexcept {
  return pool_.threads();
}

Isa Lane::isa() const noexcept {
  return pool_.isa();
}

ComputePool::ComputePool(unsigned threads, Isa isa) : isa_(isa) {
  BATON_CHECK(isa <= host_isa(), to_string(isa), to_string(host_isa()));
  const unsigned count = threads == 0 ? usable_cpus() : threads;
  workers_.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  for (unsigned i = 0; i < count; ++i) {  // only now: the threads look at all workers
    workers_[i]->thread = std::thread([this, i] { work(i); });
  }
}

ComputePool::~ComputePool() {
  stopping_.store(true, std::memory_order_release);
  publish(threads());
  for (auto& worker : workers_) {
    worker->thread.join();
  }
}

void ComputePool::submit(Priority priority, Step step, Done done) {
  const auto queue = static_cast<std::size_t>(priority);
  {
    const std::lock_guard lock(mutex_);
    BATON_CHECK(queues_[queue].size() < kQueueMax, queues_[queue].size());
    queues_[queue].push_back({std::move(step), std::move(done)});
    waiting_[queue].store(static_cast<unsigned>(queues_[queue].size()), std::memory_order_release);
  }
  publish(1);
}

// Decode goes first, unless prefill has not had its share since the last decode step.
bool ComputePool::decode_due() const noexcept {
  const bool prefill_wants =
      prefills_led_.load(std::memory_order_relaxed) > 0 || waiting_[1].load(std::memory_order_relaxed) > 0;
  return !prefill_wants || now_ns() >= decode_due_ns_.load(std::memory_order_relaxed);
}

// Whether a step of this priority waits and may begin. A decode step that is not due yet needs no wake-up of its own:
// the prefill it waits for looks here at every checkpoint and at its end.
bool ComputePool::may_start(Priority priority) const noexcept {
  const auto queue = static_cast<std::size_t>(priority);
  return waiting_[queue].load(std::memory_order_acquire) > 0 && (priority == Priority::prefill || decode_due());
}

// Takes the oldest step of the highest priority that is not below `lowest`.
bool ComputePool::take(Priority lowest, Pending& pending, Priority& priority) {
  for (const Priority candidate : {Priority::decode, Priority::prefill}) {
    const auto queue = static_cast<std::size_t>(candidate);
    if (candidate > lowest || !may_start(candidate)) {
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (queues_[queue].empty()) {
      continue;
    }
    pending = std::move(queues_[queue].front());
    queues_[queue].pop_front();
    waiting_[queue].store(static_cast<unsigned>(queues_[queue].size()), std::memory_order_release);
    priority = candidate;
    return true;
  }
  return false;
}

void ComputePool::lead(unsigned thread, bool nested, Priority priority, Pending pending) noexcept {
  Seat& seat = workers_[thread]->seats[nested ? 1 : 0];
  seat.priority.store(priority, std::memory_order_relaxed);
  const std::int64_t began = now_ns();
  if (priority == Priority::prefill) {
    prefills_led_.fetch_add(1, std::memory_order_relaxed);
  }
  std::exception_ptr error;
  try {
    seat.scratch.reset();
    Lane lane(*this, thread, nested, priority, seat.job, seat.scratch);
    pending.step(lane);
  } catch (...) {
    error = std::current_exception();
  }
  if (priority == Priority::prefill) {
    prefills_led_.fetch_sub(1, std::memory_order_relaxed);
  } else {
    const std::int64_t ended = now_ns();
    const double pause = prefill_share_ * static_cast<double>(ended - began);
    decode_due_ns_.store(ended + static_cast<std::int64_t>(pause), std::memory_order_relaxed);
  }
  pending.step = nullptr;  // what the step captured ends before its owner hears of the end
  pending.done(std::move(error));
}

bool ComputePool::lead_waiting(unsigned thread) {
  Pending pending;
  Priority priority = Priority::prefill;
  if (!take(Priority::prefill, pending, priority)) {
    return false;
  }
  lead(thread, false, priority, std::move(pending));
  return true;
}

bool ComputePool::help_with(Priority priority) {
  bool helped = false;
  for (auto& worker : workers_) {
    for (Seat& seat : worker->seats) {
      if (seat.priority.load(std::memory_order_relaxed) != priority) {
        continue;
      }
      while (seat.job.help()) {
        helped = true;
        if (may_start(Priority::decode) || may_start(Priority::prefill)) {
          return true;  // leading a waiting step comes first
        }
      }
    }
  }
  return helped;
}

bool ComputePool::help_others() {
  return help_with(Priority::decode) || help_with(Priority::prefill);
}

// Announces new work. Sleepers count themselves before they look at the epoch a last time, so either they see the new
// epoch or this sees them (all of it sequentially consistent).
void ComputePool::publish(unsigned threads_wanted) noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    wake_sleepers(epoch_, threads_wanted);
  }
}

void ComputePool::work(unsigned thread) {
  while (true) {
    const std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    if (lead_waiting(thread) || help_others()) {
      continue;
    }
    if (stopping_.load(std::memory_order_acquire)) {
      if (!lead_waiting(thread)) {  // a last look: a step may have come between the look above and the end
        return;
      }
      continue;
    }
    if (spin_until_changed(epoch_, epoch)) {
      continue;
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) == epoch) {
      sleep_while_equal(epoch_, epoch);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace baton::kernels
