#include "runtime/real_context.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton {
namespace {

namespace asio = boost::asio;

constexpr int kOpsPerTurn = 256;        // then sockets and timers get a look
constexpr unsigned kTurnsPerPoll = 64;  // a busy context looks at its sockets this seldom: a poll is a system call

// With spinning on, the context wakes this long before a timer is due and spins to it: a virtual machine delivers timer
// interrupts 20 to 75 us late and takes as long to arm one that is near (reference measurement, 2 virtual CPUs).
constexpr Duration kTimerLead = std::chrono::microseconds(40);

timespec to_timespec(Duration duration) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {static_cast<std::time_t>(whole.count()), static_cast<long>((duration - whole).count())};
}

int make_timer() {
  const int descriptor = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) {
    throw Error(Errc::internal, fmt::format("cannot create a timer: {}", std::strerror(errno)));
  }
  return descriptor;
}

}  // namespace

// Asio destroys pending socket operations in shutdown(), which must happen while the Context can still take the frames.
class Io final : public asio::io_context {
 public:
  Io() : asio::io_context(1) {}
  void end() { shutdown(); }
};

struct RealContext::Sleeper {
  explicit Sleeper(RemoteQueue& remote_in)
      : remote(remote_in), timer(io, make_timer()), bell(io, ::dup(remote_in.bell())) {
    watch_bell();
    watch_timer();
  }

  void watch_bell() {
    bell.async_wait(asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
      if (!error) {
        remote.silence();
        watch_bell();
      }
    });
  }

  void watch_timer() {
    timer.async_wait(asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
      if (!error) {
        std::uint64_t expirations = 0;
        [[maybe_unused]] const auto bytes = ::read(timer.native_handle(), &expirations, sizeof expirations);
        armed_for = kNever;
        watch_timer();
      }
    });
  }

  // Rings at the given time; arming costs a system call, so an unchanged time is left alone.
  void arm_timer(TimePoint time) noexcept {
    if (time == armed_for) {
      return;
    }
    armed_for = time;
    itimerspec setting{};
    if (time != kNever) {
      setting.it_value = to_timespec(std::max(time.time_since_epoch(), Duration(1)));  // 0 would disarm
    }
    ::timerfd_settime(timer.native_handle(), TFD_TIMER_ABSTIME, &setting, nullptr);
  }

  Io io;
  RemoteQueue& remote;
  asio::posix::stream_descriptor timer;
  asio::posix::stream_descriptor bell;
  TimePoint armed_for = kNever;
};

RealContext::RealContext(RealContextOptions options)
    : spin_(options.spin), sleeper_(std::make_unique<Sleeper>(*remote())) {}

RealContext::~RealContext() {
  destroy_coroutines();
  {
    const Inside inside(*this);
    sleeper_->io.end();
  }
  destroy_coroutines();
  close_remote();
}

TimePoint RealContext::now() const noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
}

boost::asio::execution_context& RealContext::asio_context() noexcept {
  return sleeper_->io;
}

boost::asio::io_context& RealContext::io() noexcept {
  return sleeper_->io;
}

void RealContext::stop() noexcept {
  // A copy: once stopped_ is set the owner may return from run() and destroy the context.
  const std::shared_ptr<RemoteQueue> bell = remote();
  stopped_.store(true, std::memory_order_release);
  bell->ring();
}

void RealContext::run() {
  const Inside inside(*this);
  idle_since_ = kNever;
  while (!finished()) {
    if (turn()) {
      idle_since_ = kNever;
    } else {
      rest();
    }
  }
}

bool RealContext::finished() const noexcept {
  return stopped_.load(std::memory_order_acquire) && live() == 0 && idle() && remote()->empty();
}

// Everything there is to do just now, within bounds; false if there was nothing.
bool RealContext::turn() {
  take_remote();
  bool did = false;
  for (int count = 0; count < kOpsPerTurn && run_one(); ++count) {
    did = true;
  }
  if (!timers().empty()) {
    const TimePoint time = now();
    while (timers().next_time() <= time) {
      expire_front();
      did = true;
    }
  }
  if (!did || ++turns_ % kTurnsPerPoll == 0) {
    did = sleeper_->io.poll() > 0 || did;
  }
  return did;
}

// Nothing to do: look around for a while if so configured, then sleep until a socket, a timer or another thread.
void RealContext::rest() {
  const TimePoint due = timers().next_time();
  if (spin_ > Duration::zero()) {
    const TimePoint time = now();
    if (idle_since_ == kNever) {
      idle_since_ = time;
    }
    if (time - idle_since_ < spin_ || (due != kNever && due - time < kTimerLead + kTimerLead / 2)) {
      return;
    }
  }
  if (!remote()->prepare_sleep()) {
    return;
  }
  if (!stopped_.load(std::memory_order_acquire) || live() > 0) {
    const bool early = spin_ > Duration::zero() && due != kNever;
    sleeper_->arm_timer(early ? due - kTimerLead : due);
    sleeper_->io.run_one();
  }
  remote()->awake();
}

}  // namespace baton
