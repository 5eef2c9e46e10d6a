#include "kernels/parallel_job.h"

#include <utility>

#include "kernels/parking.h"

namespace baton::kernels {

void ParallelJob::begin(Function function, void* context, std::uint32_t chunks) noexcept {
  function_ = function;
  context_ = context;
  failed_.store(false, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  state_.store(std::uint64_t{chunks} << 32, std::memory_order_release);
}

bool ParallelJob::claim(std::uint32_t& chunk, std::uint32_t& chunks) noexcept {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  while (true) {
    chunk = static_cast<std::uint32_t>(state);
    chunks = static_cast<std::uint32_t>(state >> 32);
    if (chunk >= chunks) {
      return false;
    }
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return true;
    }
  }
}

void ParallelJob::run(std::uint32_t chunk) noexcept {
  if (failed_.load(std::memory_order_relaxed)) {
    return;  // the operator's result is lost already; only the count matters
  }
  try {
    function_(context_, chunk);
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) {
      error_ = std::current_exception();  // the leader reads it after this chunk has been counted
    }
  }
}

bool ParallelJob::help() noexcept {
  std::uint32_t chunk = 0;
  std::uint32_t chunks = 0;
  if (!claim(chunk, chunks)) {
    return false;
  }
  run(chunk);
  // After the last chunk is counted the leader may go on at once, so nothing but the two flags is touched from here.
  // Both sides order "say so" before "look" (sequentially consistent), hence one of them sees the other.
  if (finished_.fetch_add(1, std::memory_order_seq_cst) + 1 == chunks &&
      leader_sleeps_.load(std::memory_order_seq_cst)) {
    wake_sleepers(finished_, 1);
  }
  return true;
}

void ParallelJob::finish() {
  std::uint32_t chunk = 0;
  std::uint32_t chunks = static_cast<std::uint32_t>(state_.load(std::memory_order_relaxed) >> 32);
  while (claim(chunk, chunks)) {
    run(chunk);
    finished_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint32_t done = finished_.load(std::memory_order_acquire);
  while (done != chunks) {
    if (!spin_until_changed(finished_, done)) {
      leader_sleeps_.store(true, std::memory_order_seq_cst);
      done = finished_.load(std::memory_order_seq_cst);
      if (done != chunks) {
        sleep_while_equal(finished_, done);
      }
      leader_sleeps_.store(false, std::memory_order_relaxed);
    }
    done = finished_.load(std::memory_order_acquire);
  }
  if (failed_.load(std::memory_order_relaxed)) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

}  // namespace baton::kernels
