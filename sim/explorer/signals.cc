#include "sim/explorer/signals.h"

#include <ctime>

namespace baton::chaos {

Signals::Signals() noexcept {
  sigemptyset(&watched_);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) {
    sigaddset(&watched_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &watched_, &before_);
}

Signals::~Signals() {
  // What is pending has been answered; it shall not end the program when it is let through.
  const timespec none{0, 0};
  while (::sigtimedwait(&watched_, nullptr, &none) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Signals::wait(std::chrono::milliseconds most) noexcept {
  timespec left{};
  left.tv_sec = most.count() / 1000;
  left.tv_nsec = (most.count() % 1000) * 1'000'000;
  const int signal = ::sigtimedwait(&watched_, nullptr, &left);
  interrupted_ = interrupted_ || signal == SIGINT || signal == SIGTERM;
}

bool Signals::interrupted() noexcept {
  wait(std::chrono::milliseconds(0));
  return interrupted_;
}

}  // namespace baton::chaos
