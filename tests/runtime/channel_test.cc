#include "runtime/channel.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using std::chrono::milliseconds;

// Move-only, without a default constructor, as requests are.
class Parcel final {
 public:
  explicit Parcel(int id) : id_(std::make_unique<int>(id)) {}
  int id() const { return *id_; }

 private:
  std::unique_ptr<int> id_;
};

Task<> send_one(Channel<Parcel>& channel, int id, std::vector<std::string>& log) {
  Parcel parcel(id);
  const bool sent = co_await channel.send(std::move(parcel));
  log.push_back((sent ? "sent " : "refused ") + std::to_string(id));
}

Task<> receive_all(Channel<Parcel>& channel, std::vector<std::string>& log) {
  while (auto parcel = co_await channel.recv()) {
    log.push_back("got " + std::to_string(parcel->id()));
  }
  log.push_back("end");
}

std::vector<int> ids(Channel<Parcel>& channel) {
  std::vector<int> result;
  channel.for_each([&](Parcel& parcel) { result.push_back(parcel.id()); });
  return result;
}

void fill(Channel<Parcel>& channel, int first, int last) {
  for (int id = first; id <= last; ++id) {
    const bool sent = channel.try_send(Parcel(id));
    REQUIRE(sent);
  }
}

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("Channel: a full buffer refuses try_send and leaves the item alone") {
  SimContext context;
  Channel<Parcel> channel(context, "parcels", 2);
  fill(channel, 1, 2);
  Parcel third(3);
  CHECK_FALSE(channel.try_send(third));
  CHECK(third.id() == 3);
  CHECK(channel.full());
  CHECK(channel.try_recv()->id() == 1);
  CHECK(channel.try_send(third));
  CHECK(ids(channel) == std::vector<int>{2, 3});
}

TEST_CASE("Channel: blocked senders move up in order as room appears") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 1);
  Scope scope(context, "senders");
  for (int id = 1; id <= 3; ++id) {
    scope.spawn("send", send_one(channel, id, log));
  }
  context.run();
  CHECK(log == Log{"sent 1"});
  CHECK(channel.blocked_senders() == 2);
  CHECK(channel.try_recv()->id() == 1);
  context.run();
  CHECK(log == Log{"sent 1", "sent 2"});
  CHECK(channel.try_recv()->id() == 2);
  CHECK(channel.try_recv()->id() == 3);
  context.run();
  CHECK(log == Log{"sent 1", "sent 2", "sent 3"});
}

TEST_CASE("Channel: close keeps buffered items readable and releases blocked senders with false") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 2);
  fill(channel, 1, 2);
  Scope scope(context, "all");
  scope.spawn("send", send_one(channel, 3, log));
  context.run();
  channel.close();
  channel.close();
  scope.spawn("late", send_one(channel, 4, log));
  scope.spawn("receive", receive_all(channel, log));
  context.run();
  CHECK(log == Log{"refused 3", "refused 4", "got 1", "got 2", "end"});
  CHECK_FALSE(channel.try_send(Parcel(5)));
  CHECK_FALSE(channel.try_recv());
}

TEST_CASE("Channel: close wakes every waiting receiver with nullopt") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 2);
  Scope scope(context, "all");
  scope.spawn("receive", receive_all(channel, log));
  scope.spawn("receive", receive_all(channel, log));
  context.run();
  CHECK(log.empty());
  channel.close();
  context.run();
  CHECK(log == Log{"end", "end"});
}

TEST_CASE("Channel: an item handed to a receiver before its cancel is delivered, one after it stays") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 2);
  Scope scope(context, "all");
  const TaskHandle receiver = scope.spawn("receive", receive_all(channel, log));
  context.run();
  fill(channel, 1, 1);
  TaskHandle(receiver).cancel();
  fill(channel, 2, 2);
  context.run();
  CHECK(log == Log{"got 1"});  // then the next co_await threw
  CHECK(receiver.done());
  CHECK(ids(channel) == std::vector<int>{2});
}

TEST_CASE("Channel: a cancelled sender's item is gone and nobody else's") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 1);
  fill(channel, 1, 1);
  Scope scope(context, "all");
  TaskHandle second = scope.spawn("send", send_one(channel, 2, log));
  scope.spawn("send", send_one(channel, 3, log));
  context.run();
  second.cancel();
  context.run();
  CHECK(log == Log{"refused 2"});
  CHECK(channel.try_recv()->id() == 1);
  CHECK(ids(channel) == std::vector<int>{3});
  context.run();
}

namespace {

Task<> timed_receives(Context& context, Channel<Parcel>& channel, Log& log) {
  for (int tries = 0; tries < 4; ++tries) {
    auto parcel = co_await channel.recv_before(context.now() + milliseconds(10));
    if (parcel.has_value()) {
      log.push_back("got " + std::to_string(parcel->id()));
    } else {
      log.push_back(parcel.error().message());
    }
  }
}

Task<> send_at(Context& context, Channel<Parcel>& channel, milliseconds at, int id) {
  co_await sleep_until(context, TimePoint(at));
  Parcel parcel(id);
  co_await channel.send(std::move(parcel));
}

}  // namespace

TEST_CASE("Channel: recv_before tells item, timeout, closing and cancel apart") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 4);
  Scope scope(context, "all");
  TaskHandle receiver = scope.spawn("receive", timed_receives(context, channel, log));
  scope.spawn("send", send_at(context, channel, milliseconds(5), 1));
  context.run_until(TimePoint(milliseconds(16)));
  CHECK(log == Log{"got 1", "timeout"});
  receiver.cancel();
  context.run();
  CHECK(log == Log{"got 1", "timeout", "aborted"});
  CHECK(receiver.done());

  log.clear();
  channel.close();
  scope.spawn("receive", timed_receives(context, channel, log));
  context.run();
  CHECK(log == Log{"unavailable", "unavailable", "unavailable", "unavailable"});
}

TEST_CASE("Channel: recv_before a time already reached still takes what is there") {
  SimContext context;
  context.run_until(TimePoint(milliseconds(50)));
  Log log;
  Channel<Parcel> channel(context, "parcels", 4);
  fill(channel, 1, 1);
  auto receive_twice = [&]() -> Task<> {
    auto first = co_await channel.recv_before(TimePoint(milliseconds(1)));
    auto second = co_await channel.recv_before(TimePoint(milliseconds(1)));
    CHECK(first.value().id() == 1);
    CHECK(second.error() == Errc::timeout);
  };
  test::run(context, receive_twice());
  CHECK(context.now() == TimePoint(milliseconds(50)));
}

TEST_CASE("Channel: looks, removal from the middle and re-ordering keep every other item in place") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 5);
  fill(channel, 1, 5);
  Scope scope(context, "all");
  scope.spawn("send", send_one(channel, 6, log));
  context.run();
  CHECK(channel.front()->id() == 1);
  CHECK(channel.find_if([](const Parcel& parcel) { return parcel.id() == 4; })->id() == 4);
  CHECK(channel.find_if([](const Parcel& parcel) { return parcel.id() == 9; }) == nullptr);
  CHECK_FALSE(channel.remove_if_first([](const Parcel& parcel) { return parcel.id() == 9; }));
  CHECK(channel.remove_if_first([](const Parcel& parcel) { return parcel.id() % 2 == 0; })->id() == 2);
  CHECK(ids(channel) == std::vector<int>{1, 3, 4, 5, 6});  // the blocked sender moved up
  channel.reorder([](const Parcel& a, const Parcel& b) { return a.id() % 2 < b.id() % 2; });
  CHECK(ids(channel) == std::vector<int>{4, 6, 1, 3, 5});
  context.run();
  CHECK(log == Log{"sent 6"});
}

TEST_CASE("Channel: wait_nonempty takes nothing and ends with close") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 2);
  auto look = [&]() -> Task<> {
    const bool something = co_await channel.wait_nonempty();
    log.push_back(something ? "something" : "nothing");
  };
  Scope scope(context, "all");
  scope.spawn("look", look());
  context.run();
  CHECK(log.empty());
  fill(channel, 1, 1);
  context.run();
  CHECK(log == Log{"something"});
  CHECK(channel.size() == 1);
  CHECK(channel.try_recv());
  scope.spawn("look", look());
  context.run();
  channel.close();
  context.run();
  CHECK(log == Log{"something", "nothing"});
}

TEST_CASE("Channel: one pulse watches several channels") {
  SimContext context;
  Channel<Parcel> first(context, "first", 2);
  Channel<Parcel> second(context, "second", 2);
  Pulse pulse(context, "inbox");
  first.watch_with(&pulse);
  second.watch_with(&pulse);
  int seen = 0;
  auto serve = [&]() -> Task<> {
    while (!first.closed() || !second.closed()) {
      co_await pulse.wait();
      while (first.try_recv() || second.try_recv()) {
        ++seen;
      }
    }
  };
  Scope scope(context, "all");
  scope.spawn("serve", serve());
  context.run();
  fill(second, 1, 2);
  fill(first, 1, 1);
  context.run();
  CHECK(seen == 3);
  second.close();
  context.run();
  CHECK(scope.live() == 1);
  first.close();
  context.run();
  CHECK(scope.live() == 0);
}

TEST_CASE("Channel: the first of several receivers gets the item, in the order in which they began to wait") {
  SimContext context;
  Log log;
  Channel<Parcel> channel(context, "parcels", 4);
  auto receive = [&](int who) -> Task<> {
    auto parcel = co_await channel.recv();
    log.push_back(std::to_string(who) + " got " + std::to_string(parcel->id()));
  };
  Scope scope(context, "all");
  for (int who = 1; who <= 3; ++who) {
    scope.spawn("receive", receive(who));
  }
  context.run();
  fill(channel, 10, 12);
  context.run();
  CHECK(log == Log{"1 got 10", "2 got 11", "3 got 12"});
}

}  // namespace baton
