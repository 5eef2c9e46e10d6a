// RealContext: a Context on the steady clock, for one rank and one thread, with an io_context for its sockets.
//
// run() executes what is ready, fires timers that are due, polls sockets, and otherwise sleeps in epoll until a socket,
// a timer or another thread wakes it. Time points are those of CLOCK_MONOTONIC, so all contexts of a machine agree.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/context.h"
#include "runtime/time.h"

namespace boost::asio {
class io_context;
}

namespace baton {

struct RealContextOptions {
  // How long an idle context looks around before it sleeps. Spinning makes a hop between ranks 0.3 to 0.6 us instead of
  // 14 to 22 us, and timers exact, but needs a core of its own per context; 50 us is a good value then.
  Duration spin = Duration::zero();
};

class RealContext final : public Context {
 public:
  explicit RealContext(RealContextOptions options = {});  // throws Error when out of descriptors

  // run() has returned, or was never called. Coroutines still suspended are destroyed; those that wait for sockets are
  // so in no particular order.
  ~RealContext() override;

  TimePoint now() const noexcept override;
  boost::asio::execution_context& asio_context() noexcept override;

  // For sockets, acceptors and signal sets; they may also be made with executor(). Owner's thread.
  boost::asio::io_context& io() noexcept;

  // Makes this thread the context's and works until stop() was called, every spawned coroutine has ended and nothing is
  // ready. Stopping cancels nothing: whoever stops first ends the coroutines. Exceptions of posted functions leave it.
  void run();

  // Any thread: which sleep of run() it is in, none while it works. A timer that goes off ends a sleep a moment before
  // this says so. See RemoteQueue::nap().
  std::optional<std::uint64_t> nap() const noexcept { return remote()->nap(); }

  // Any thread, and from a signal handler. Sticky.
  void stop() noexcept;

 private:
  struct Sleeper;  // epoll side: the io_context, the bell and a timer descriptor

  bool finished() const noexcept;
  bool turn();
  void rest();

  const Duration spin_;
  std::unique_ptr<Sleeper> sleeper_;
  std::atomic<bool> stopped_{false};
  unsigned turns_ = 0;
  TimePoint idle_since_ = kNever;
};

}  // namespace baton
