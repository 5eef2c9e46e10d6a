#include "runtime/real_context.h"

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;

Task<> echo(Acceptor& acceptor) {
  Socket socket = co_await acceptor.async_accept(asio::deferred);
  std::array<char, 5> bytes{};
  co_await asio::async_read(socket, asio::buffer(bytes), asio::deferred);
  co_await asio::async_write(socket, asio::buffer(bytes), asio::deferred);
}

Task<std::string> ask(Context& context, asio::ip::tcp::endpoint endpoint) {
  Socket socket(context.executor());
  co_await socket.async_connect(endpoint, asio::deferred);
  std::string text = "hello";
  co_await asio::async_write(socket, asio::buffer(text), asio::deferred);
  std::string answer(5, ' ');
  co_await asio::async_read(socket, asio::buffer(answer), asio::deferred);
  co_return answer;
}

Acceptor listen(Context& context) {
  return Acceptor(context.executor(), asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
}

std::atomic<RealContext*> signalled_context{nullptr};

void stop_on_signal(int) {
  signalled_context.load()->stop();
}

}  // namespace

TEST_CASE("RealContext: sockets work on the executor, and coroutines come back to their context") {
  RealContext context;
  Acceptor acceptor = listen(context);
  auto talk = [&]() -> Task<std::string> {
    Scope scope(context, "talk");
    scope.spawn("echo", echo(acceptor));
    std::string answer;
    auto client = [&]() -> Task<> {
      answer = co_await ask(context, acceptor.local_endpoint());
      CHECK(context.running_here());
    };
    scope.spawn("ask", client());
    co_await scope.join();
    co_return answer;
  };
  CHECK(test::run(context, talk()) == "hello");
}

TEST_CASE("RealContext: a coroutine that waits for a socket is cancelled by its scope") {
  RealContext context;
  Acceptor acceptor = listen(context);
  auto talk = [&]() -> Task<> {
    Scope scope(context, "talk");
    scope.spawn("echo", echo(acceptor));
    auto stop_it = [&]() -> Task<> {
      co_await yield(context);
      scope.cancel();
    };
    scope.spawn("stop", stop_it());
    co_await scope.join();
  };
  test::run(context, talk());
  CHECK(context.live() == 0);
}

TEST_CASE("RealContext: destroyed while coroutines wait for sockets, timers and channels") {
  RealContext peer;  // its acceptor takes the connection without anyone running it
  auto context = std::make_unique<RealContext>();
  {
    Acceptor acceptor = listen(peer);
    Channel<int> channel(*context, "channel", 1);
    Scope scope(*context, "root");
    auto receive = [&]() -> Task<> { co_await channel.recv(); };
    auto sleep = [&]() -> Task<> { co_await sleep_until(*context, kNever); };
    auto connect_and_read = [&]() -> Task<> {
      Socket socket(context->executor());
      co_await socket.async_connect(acceptor.local_endpoint(), asio::deferred);
      context->post([] { throw std::runtime_error("leave run()"); });
      std::array<char, 1> byte{};
      co_await asio::async_read(socket, asio::buffer(byte), asio::deferred);
    };
    scope.spawn("receive", receive());
    scope.spawn("sleep", sleep());
    scope.spawn("read", connect_and_read());
    CHECK_THROWS_AS(context->run(), std::runtime_error);
    CHECK(context->live() == 3);
    context.reset();
  }
}

TEST_CASE("RealContext: stop ends run only after the coroutines, also from another thread and from a signal handler") {
  RealContext context;
  Channel<int> channel(context, "channel", 1);
  int received = 0;
  auto receive = [&]() -> Task<> {
    while (auto item = co_await channel.recv()) {
      received += *item;
    }
  };
  Scope scope(context, "root");
  scope.spawn("receive", receive());
  std::thread other([&] {
    context.stop();
    context.post([&] { CHECK(channel.try_send(7)); });
    context.post([&] { channel.close(); });
  });
  context.run();
  other.join();
  CHECK(received == 7);

  RealContext second;
  signalled_context = &second;
  const auto previous = std::signal(SIGUSR1, stop_on_signal);
  std::thread runner([&] { second.run(); });
  std::raise(SIGUSR1);
  runner.join();
  std::signal(SIGUSR1, previous);
}

TEST_CASE("RealContext: sleepers wake in order and not before their time") {
  for (const Duration spin : {Duration::zero(), Duration(std::chrono::microseconds(50))}) {
    RealContext context(RealContextOptions{spin});
    std::vector<int> woken;
    bool early = false;
    auto sleep = [&](int number) -> Task<> {
      const TimePoint until = context.now() + std::chrono::microseconds(300 * number);
      co_await sleep_until(context, until);
      early = early || context.now() < until;
      woken.push_back(number);
    };
    auto sleep_all = [&]() -> Task<> {
      Scope scope(context, "all");
      for (int number = 8; number >= 0; --number) {
        scope.spawn("sleep", sleep(number));
      }
      co_await scope.join();
    };
    test::run(context, sleep_all());
    CHECK(woken == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK_FALSE(early);
  }
}

TEST_CASE("RealContext: another thread can tell one sleep from the next, and from work") {
  RealContext context;
  CHECK(!context.nap());
  const auto next_nap = [&](std::uint64_t after) {
    for (;;) {
      if (const std::optional<std::uint64_t> nap = context.nap(); nap && *nap > after) {
        return *nap;
      }
      std::this_thread::yield();
    }
  };
  Scope scope(context, "scope");
  const auto forever = [&]() -> Task<> { co_await pause(context, std::chrono::hours(1)); };
  {
    const Context::Inside inside(context);
    scope.spawn("forever", forever());
  }
  std::thread thread([&] { context.run(); });
  const std::uint64_t first = next_nap(0);
  bool asleep_at_work = true;
  context.post([&] { asleep_at_work = context.nap().has_value(); });
  const std::uint64_t second = next_nap(first);
  CHECK(!asleep_at_work);
  CHECK(context.nap() == second);
  context.post([&] {
    scope.cancel();
    context.stop();
  });
  thread.join();
}

TEST_CASE("RealContext: a busy run queue does not starve sockets and timers") {
  RealContext context;
  Acceptor acceptor = listen(context);
  auto talk = [&]() -> Task<> {
    Scope scope(context, "talk");
    int done = 0;
    auto churn = [&]() -> Task<> {
      while (done < 2) {
        co_await yield(context);
      }
    };
    auto client = [&]() -> Task<> {
      const std::string answer = co_await ask(context, acceptor.local_endpoint());
      CHECK(answer == "hello");
      ++done;
    };
    auto timer = [&]() -> Task<> {
      co_await pause(context, milliseconds(1));
      ++done;
    };
    scope.spawn("churn", churn());
    scope.spawn("echo", echo(acceptor));
    scope.spawn("client", client());
    scope.spawn("timer", timer());
    co_await scope.join();
  };
  test::run(context, talk());
}

}  // namespace baton
