#include "kernels/parking.h"

#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace baton::kernels {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex is a plain 32-bit word");

namespace {

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
  constexpr int kSpinsPerClockRead = 16;
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (word.load(std::memory_order_acquire) != seen) {
        return true;
      }
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void sleep_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void wake_sleepers(const std::atomic<std::uint32_t>& word, unsigned count) noexcept {
  const int n = count > INT_MAX ? INT_MAX : static_cast<int>(count);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}

}  // namespace baton::kernels
