#include "runtime/mailbox.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/real_context.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

using Letter = std::unique_ptr<int>;

Task<> read_all(Mailbox<Letter>& mailbox, std::vector<int>& read) {
  while (auto letter = co_await mailbox.recv()) {
    read.push_back(**letter);
  }
}

// Numbers tagged with the producer; those of one producer must arrive rising. Ends after `expected` letters.
Task<> read_many(Mailbox<Letter>& mailbox, int producers, int expected, bool& in_order) {
  std::vector<int> last(static_cast<std::size_t>(producers), -1);
  for (int count = 0; count < expected; ++count) {
    auto letter = co_await mailbox.recv();
    const int value = **letter;
    int& previous = last[static_cast<std::size_t>(value % producers)];
    in_order = in_order && value / producers > previous;
    previous = value / producers;
  }
  mailbox.close();
}

}  // namespace

TEST_CASE("Mailbox: a push from the owner's context is there at once, one from outside with the next turn") {
  SimContext context;
  Mailbox<Letter> mailbox(context, "inbox");
  CHECK(mailbox.push(std::make_unique<int>(1)));
  CHECK(mailbox.empty());
  std::size_t size_inside = 0;
  context.post([&] {
    CHECK(mailbox.push(std::make_unique<int>(2)));
    size_inside = mailbox.size();
  });
  context.run();
  CHECK(size_inside == 2);
  CHECK(**mailbox.try_recv() == 1);
  CHECK(**mailbox.try_recv() == 2);
  CHECK_FALSE(mailbox.try_recv());
}

TEST_CASE("Mailbox: a push after close is refused, what arrived before stays readable") {
  SimContext context;
  Mailbox<Letter> mailbox(context, "inbox");
  CHECK(mailbox.push(std::make_unique<int>(1)));
  context.run();
  CHECK(mailbox.push(std::make_unique<int>(2)));  // under way when the box closes: dropped
  mailbox.close();
  CHECK_FALSE(mailbox.push(std::make_unique<int>(3)));
  std::vector<int> read;
  test::run(context, read_all(mailbox, read));
  CHECK(read == std::vector<int>{1});
}

TEST_CASE("Mailbox: holds at most its limit, arrived or under way, and takes more once some were taken") {
  SimContext context;
  Mailbox<Letter> mailbox(context, "inbox", 3);
  std::vector<int> read;
  for (int i = 0; i < 3; ++i) {
    CHECK(mailbox.push(std::make_unique<int>(i)));
  }
  CHECK_FALSE(mailbox.push(std::make_unique<int>(3)));
  context.run();
  CHECK_FALSE(mailbox.push(std::make_unique<int>(4)));
  CHECK(mailbox.try_recv());
  CHECK(mailbox.push(std::make_unique<int>(5)));
  CHECK_FALSE(mailbox.push(std::make_unique<int>(6)));
  context.run();
  Scope scope(context, "all");
  scope.spawn("read", read_all(mailbox, read));
  context.run();
  for (int i = 10; i < 13; ++i) {
    CHECK(mailbox.push(std::make_unique<int>(i)));  // handed straight to the reader, so the box is empty again
  }
  context.run();
  mailbox.close();
  context.run();
  CHECK(read == std::vector<int>{1, 2, 5, 10, 11, 12});
}

TEST_CASE("Mailbox: a sender outlives the mailbox and its context") {
  Mailbox<Letter>::Sender sender;
  CHECK_FALSE(sender.push(std::make_unique<int>(0)));
  Mailbox<Letter>::Sender orphan;
  {
    SimContext context;
    auto mailbox = std::make_unique<Mailbox<Letter>>(context, "inbox");
    sender = mailbox->sender();
    CHECK(sender.push(std::make_unique<int>(1)));  // under way when the mailbox dies
    mailbox.reset();
    context.run();
    CHECK_FALSE(sender.push(std::make_unique<int>(2)));
    Mailbox<Letter> second(context, "second");
    orphan = second.sender();
    CHECK(orphan.push(std::make_unique<int>(3)));  // under way when the context dies
  }
  CHECK_FALSE(sender.push(std::make_unique<int>(4)));
  CHECK_FALSE(orphan.push(std::make_unique<int>(5)));
}

TEST_CASE("Mailbox: many threads push, nothing is lost and each one's order is kept") {
  constexpr int kProducers = 4;
  constexpr int kEach = 5000;
  for (const Duration spin : {Duration::zero(), Duration(std::chrono::microseconds(20))}) {
    RealContext context(RealContextOptions{spin});
    Mailbox<Letter> mailbox(context, "inbox", kProducers * kEach);
    bool in_order = true;
    std::vector<std::thread> threads;
    for (int producer = 0; producer < kProducers; ++producer) {
      threads.emplace_back([&mailbox, producer] {
        for (int i = 0; i < kEach; ++i) {
          CHECK(mailbox.push(std::make_unique<int>(i * kProducers + producer)));
        }
      });
    }
    test::run(context, read_many(mailbox, kProducers, kProducers * kEach, in_order));
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(in_order);
  }
}

TEST_CASE("Mailbox: two contexts play ball across threads, each asleep while the other has it") {
  constexpr int kRounds = 2000;
  RealContext left;
  RealContext right;
  Mailbox<Letter> left_box(left, "left");
  Mailbox<Letter> right_box(right, "right");
  int returned = 0;
  auto serve = [&]() -> Task<> {
    for (int i = 0; i < kRounds; ++i) {
      right_box.push(std::make_unique<int>(i));
      auto ball = co_await left_box.recv();
      returned += **ball == i ? 1 : 0;
    }
    right_box.push(nullptr);
  };
  auto give_back = [&]() -> Task<> {
    for (;;) {
      auto ball = co_await right_box.recv();
      if (*ball == nullptr) {
        co_return;
      }
      left_box.push(std::move(*ball));
    }
  };
  std::thread other([&] { test::run(right, give_back()); });
  test::run(left, serve());
  other.join();
  CHECK(returned == kRounds);
}

TEST_CASE("Mailbox: threads may go on pushing while the owner stops and is destroyed") {
  for (int round = 0; round < 50; ++round) {
    Mailbox<Letter>::Sender sender;
    auto context = std::make_unique<RealContext>();
    auto mailbox = std::make_unique<Mailbox<Letter>>(*context, "inbox", 100);
    sender = mailbox->sender();
    std::atomic<bool> ended{false};
    std::thread pusher([&] {
      while (!ended.load()) {
        sender.push(std::make_unique<int>(1));
      }
    });
    int read = 0;
    auto read_some = [&]() -> Task<> {
      while (read < 200) {
        co_await mailbox->recv();
        ++read;
      }
    };
    test::run(*context, read_some());
    if (round % 2 == 0) {
      mailbox.reset();
      context.reset();
    } else {
      context.reset();
      mailbox.reset();
    }
    ended = true;
    pusher.join();
    CHECK(read == 200);
  }
}

}  // namespace baton
