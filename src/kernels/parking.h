// Waiting for a 32-bit word to change: spin for a moment, then sleep in the kernel. A compute thread that finds no
// work must give its core away soon, because the core may be wanted by whoever holds the work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace baton::kernels {

// Long enough to bridge the gap between two operators of a step, too short to cost a neighbour anything
// (comparison of schemes on two cores: spin 20 us then futex keeps 95 % of pure spinning's rate when quiet).
constexpr std::chrono::microseconds kSpinTime{20};

// Spins until `word` differs from `seen` or kSpinTime is over; true if it differs.
bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept;

// Sleeps while `word` equals `seen`; may return for no reason.
void sleep_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept;

// Wakes at most `count` sleepers of `word`.
void wake_sleepers(const std::atomic<std::uint32_t>& word, unsigned count) noexcept;

}  // namespace baton::kernels
