// What g++ 12 miscompiles beside co_await (style.md, G1 to G3), in the forms baton allows: they must be right on every
// compiler of ours. Counted members show a double destruction even without a sanitizer.
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/mailbox.h"
#include "runtime/on.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

// Balance of constructions and destructions.
struct Counted {
  static inline int alive = 0;
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() { --alive; }
};

// A message as rule 28 of the style asks for: non-trivial members and a constructor.
struct Message {
  Message(std::string text_in, std::vector<int> numbers_in)
      : text(std::move(text_in)), numbers(std::move(numbers_in)), owned(std::make_unique<Counted>()) {}
  std::string text;
  std::vector<int> numbers;
  std::unique_ptr<Counted> owned;
  Counted counted;
};

struct Aggregate {
  std::string text;
  std::unique_ptr<Counted> owned;
  Counted counted;
};

Message make_message(int number) {
  return Message("a text too long to be stored inside the string object", {number});
}

Task<> send_all(Channel<Message>& channel) {
  // A temporary with a constructor, a factory's result, and a named local.
  co_await channel.send(Message("first, and too long to be stored inside the string object", std::vector<int>(3, 1)));
  co_await channel.send(make_message(2));
  Message named = make_message(3);
  const bool sent = co_await channel.send(std::move(named));
  CHECK(sent);
  channel.close();
}

Task<> receive_all(Channel<Message>& channel, std::vector<std::string>& texts) {
  while (auto message = co_await channel.recv()) {
    texts.push_back(message->text);
    CHECK(message->owned != nullptr);
  }
}

Task<> send_aggregates(Channel<Aggregate>& channel) {
  Aggregate named{"named, and too long to be stored inside the string object", std::make_unique<Counted>(), {}};
  co_await channel.send(std::move(named));
  auto op = channel.send(Aggregate{"in an op, too long for the string object", std::make_unique<Counted>(), {}});
  const bool sent = co_await std::move(op);
  CHECK(sent);
  CHECK(channel.try_send(Aggregate{"without await, too long for the string object", std::make_unique<Counted>(), {}}));
  channel.close();
}

Task<> receive_aggregates(Channel<Aggregate>& channel, std::vector<std::string>& texts) {
  for (;;) {
    auto message = co_await channel.recv_before(kNever);
    if (!message.has_value()) {
      CHECK(message.error() == Errc::unavailable);
      co_return;
    }
    texts.push_back(message->text);
  }
}

Task<std::string> choose(Context& context, bool first) {
  std::string text;  // an if instead of ?: (G2)
  if (first) {
    text = co_await [](Context& inner) -> Task<std::string> {
      co_await yield(inner);
      co_return "the first text, too long to be stored inside the string object";
    }(context);
  } else {
    text = "second";
  }
  co_return text;
}

Task<Message> by_completion(Context& context) {
  const auto payload = std::make_shared<Message>(make_message(4));
  const auto start = [payload](Completion<Message> completion) { completion(std::move(*payload)); };
  Message message = co_await complete_elsewhere<Message>(context, start);
  co_return message;
}

}  // namespace

TEST_CASE("Messages: with a constructor, or as named aggregates, they survive every await exactly once") {
  Counted::alive = 0;
  {
    SimContext context;
    Channel<Message> messages(context, "messages", 1);
    Channel<Aggregate> aggregates(context, "aggregates", 4);
    std::vector<std::string> texts;
    Scope scope(context, "all");
    scope.spawn("send", send_all(messages));
    scope.spawn("receive", receive_all(messages, texts));
    scope.spawn("send aggregates", send_aggregates(aggregates));
    scope.spawn("receive aggregates", receive_aggregates(aggregates, texts));
    context.run();
    scope.rethrow_error();
    CHECK(texts.size() == 6);
    CHECK(test::run(context, choose(context, true)).starts_with("the first"));
    CHECK(test::run(context, choose(context, false)) == "second");
    CHECK(test::run(context, by_completion(context)).numbers == std::vector<int>{4});
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("Messages: an op that is never awaited destroys its item once") {
  Counted::alive = 0;
  {
    SimContext context;
    Channel<Message> channel(context, "messages", 1);
    auto never_awaited = channel.send(make_message(1));
    CHECK(Counted::alive > 0);
  }
  CHECK(Counted::alive == 0);
}

}  // namespace baton
