// Signals: waits for a child's end or Ctrl-C, without a handler that interrupts anything.
//
// While it lives SIGCHLD, SIGINT and SIGTERM are held back from the whole process, which has one thread.
#pragma once

#include <chrono>
#include <csignal>

namespace baton::chaos {

class Signals final {
 public:
  Signals() noexcept;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  void wait(std::chrono::milliseconds most) noexcept;  // until one of them comes; zero: looks and goes on
  bool interrupted() noexcept;                         // SIGINT or SIGTERM has come

 private:
  sigset_t watched_{};
  sigset_t before_{};
  bool interrupted_ = false;
};

}  // namespace baton::chaos
