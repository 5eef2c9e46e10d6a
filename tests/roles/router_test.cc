// The router alone: whom it asks, what it tells whom, and that every request ends once.
#include "roles/router.h"

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "tests/support/pick.h"
#include "tests/support/recording_link.h"
#include "tests/support/run.h"

using namespace baton;

namespace {

constexpr RankId kPrefill0{Role::prefill, 0};
constexpr RankId kPrefill1{Role::prefill, 1};
constexpr RankId kDecode0{Role::decode, 0};

struct Bench {
  SimContext context;
  MetricsRegistry metrics;
  test::RecordingLink link;
  EventTrace trace{1000};
  Router router;
  Scope scope{context, "bench"};

  explicit Bench(RouterConfig config = {}) : router(context, link, ranks(), filled(config), metrics, trace) {}

  static RouterRanks ranks() {
    RouterRanks result;
    result.prefill = {{kPrefill0, {1, 1}}, {kPrefill1, {1, 2}}};
    result.decode = {{kDecode0, {2, 1}}};
    return result;
  }

  static RouterConfig filled(RouterConfig config) {
    config.max_context = 100;
    config.vocab_size = 50;
    return config;
  }

  GenerationRequest request(std::size_t prompt = 10) const {
    GenerationRequest result;
    result.prompt = std::vector<TokenId>(prompt, 3);
    result.stop.max_tokens = 5;
    return result;
  }

  RoomId last_room() const { return std::get<Job>(link.sent.back().second).room; }

  template <class Script>
  void run(Script script) {
    const auto live = [&]() -> Task<> {
      router.open_for_work();
      scope.spawn("router", router.run());
      const auto body = [&]() -> Task<> {
        co_await script();
        router.stop();
      };
      scope.spawn("script", body());
      co_await scope.join();
    };
    test::run(context, live());
  }
};

Task<FinishEvent> end_of(Generation& generation) {
  FinishEvent finish;
  std::size_t finishes = 0;
  while (std::optional<GenerationEvent> event = co_await generation.next()) {
    if (auto* last = std::get_if<FinishEvent>(&*event)) {
      finish = *last;
      ++finishes;
    }
  }
  CHECK(finishes == 1);
  co_return finish;
}

}  // namespace

TEST_CASE("Router: both legs get the same room and deadline") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const auto generation = bench.router.start(bench.request());
    REQUIRE(bench.link.sent.size() == 2);
    const Job& prefill = std::get<Job>(bench.link.sent[0].second);
    const Job& decode = std::get<Job>(bench.link.sent[1].second);
    CHECK(bench.link.sent[0].first == kPrefill0);
    CHECK(bench.link.sent[1].first == kDecode0);
    CHECK(prefill.room == decode.room);
    CHECK(prefill.deadline == decode.deadline);
    co_return;
  });
}

TEST_CASE("Router: a failure on one leg is the request's end, and the other leg is told with the same cause") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const auto generation = bench.router.start(bench.request());
    bench.router.inbox().push(
        LegFailed(bench.last_room(), kPrefill0, Failure(Errc::too_large, "prefill/0", "does not fit")));
    const FinishEvent finish = co_await end_of(*generation);
    REQUIRE(finish.failure.has_value());
    CHECK(finish.failure->code == Errc::too_large);
    CHECK(bench.link.receivers<CancelRoom>() == std::vector<RankId>{kDecode0});
    CHECK(bench.router.open_requests() == 0);
  });
}

TEST_CASE("Router: what comes after the end of a room finds nobody, and the first end wins") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const auto generation = bench.router.start(bench.request());
    const RoomId room = bench.last_room();
    bench.router.inbox().push(LegFailed(room, kDecode0, Failure(Errc::timeout, "decode/0", "first")));
    bench.router.inbox().push(LegFailed(room, kPrefill0, Failure(Errc::internal, "prefill/0", "second")));
    FinishEvent well;
    well.reason = FinishReason::stop;
    std::vector<RoomEvent> late;
    late.emplace_back(room, 0, well);
    bench.router.inbox().push(RoomEvents(std::move(late)));
    const FinishEvent finish = co_await end_of(*generation);
    CHECK(finish.failure->message == "first");
  });
}

TEST_CASE("Router: the deadline ends a request whose ranks are silent, and both are told") {
  Bench bench;
  bench.run([&]() -> Task<> {
    GenerationRequest request = bench.request();
    request.time_limit = std::chrono::milliseconds(30);
    const auto generation = bench.router.start(std::move(request));
    const FinishEvent finish = co_await end_of(*generation);
    CHECK(finish.failure->code == Errc::timeout);
    CHECK(bench.context.now() == TimePoint{} + Duration(std::chrono::milliseconds(30)));
    CHECK(bench.link.receivers<CancelRoom>() == std::vector<RankId>{kPrefill0, kDecode0});
  });
}

TEST_CASE("Router: a generation that is destroyed or aborted cancels both legs, once") {
  Bench bench;
  bench.run([&]() -> Task<> {
    auto destroyed = bench.router.start(bench.request());
    destroyed.reset();
    CHECK(bench.link.receivers<CancelRoom>().size() == 2);
    const auto aborted = bench.router.start(bench.request());
    aborted->abort();
    aborted->abort();
    const FinishEvent finish = co_await end_of(*aborted);
    CHECK(finish.failure->code == Errc::aborted);
    CHECK(bench.link.receivers<CancelRoom>().size() == 4);
    CHECK(bench.router.open_requests() == 0);
  });
}

TEST_CASE("Router: requests that can never work are refused with the numbers, before any rank hears of them") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const auto refused = [&](GenerationRequest request) -> Task<Failure> {
      const auto generation = bench.router.start(std::move(request));
      const FinishEvent finish = co_await end_of(*generation);
      co_return *finish.failure;
    };
    const Failure large = co_await refused(bench.request(96));
    CHECK(large.code == Errc::too_large);
    CHECK(large.message.find("101") != std::string::npos);
    const Failure empty = co_await refused(bench.request(0));
    CHECK(empty.code == Errc::invalid_argument);
    GenerationRequest foreign = bench.request();
    foreign.prompt = {3, 3, 3, 50, 3};
    const Failure outside = co_await refused(std::move(foreign));
    CHECK(outside.code == Errc::invalid_argument);
    GenerationRequest negative = bench.request();
    negative.sampling.temperature = -1;
    const Failure wrong = co_await refused(std::move(negative));
    CHECK(wrong.code == Errc::invalid_argument);
    CHECK(bench.link.sent.empty());
  });
}

TEST_CASE("Router: a prompt longer than every prefill rank can take is refused, however short its output") {
  RouterConfig config;
  config.max_prompt = 20;
  Bench bench(config);
  bench.run([&]() -> Task<> {
    const auto fits = bench.router.start(bench.request(20));
    CHECK(bench.link.sent.size() == 2);  // a job for each leg
    const auto large = bench.router.start(bench.request(21));
    const FinishEvent finish = co_await end_of(*large);
    CHECK(finish.failure->code == Errc::too_large);
    CHECK(finish.failure->message.find("21") != std::string::npos);
    CHECK(bench.link.sent.size() == 2);
    fits->abort();
    co_await end_of(*fits);
  });
}

TEST_CASE("Router: load that is done makes a rank attractive again") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const auto first = bench.router.start(bench.request(60));
    const RoomId room = bench.last_room();
    const auto second = bench.router.start(bench.request(10));
    const auto third = bench.router.start(bench.request(10));
    CHECK(bench.link.receivers<Job>()[2] == kPrefill1);
    CHECK(bench.link.receivers<Job>()[4] == kPrefill1);
    bench.router.inbox().push(PrefillDone(room));
    co_await sleep_until(bench.context, bench.context.now() + Duration(1));
    const auto fourth = bench.router.start(bench.request(10));
    CHECK(bench.link.receivers<Job>()[6] == kPrefill0);
  });
}

TEST_CASE("Router: more open requests than allowed are overloaded, draining ones unavailable") {
  RouterConfig config;
  config.open_max = 1;
  Bench bench(config);
  bench.run([&]() -> Task<> {
    const auto first = bench.router.start(bench.request());
    const auto second = bench.router.start(bench.request());
    const FinishEvent overloaded = co_await end_of(*second);
    CHECK(overloaded.failure->code == Errc::overloaded);
    co_await bench.router.drain(bench.context.now() + Duration(std::chrono::milliseconds(10)));
    CHECK(bench.context.now() == TimePoint{} + Duration(std::chrono::milliseconds(10)));
    const FinishEvent drained = co_await end_of(*first);
    CHECK(drained.failure->code == Errc::unavailable);
    const auto late = bench.router.start(bench.request());
    const FinishEvent refused = co_await end_of(*late);
    CHECK(refused.failure->code == Errc::unavailable);
  });
}

TEST_CASE("Router: prefill's failure after the first token is no failure of the request") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const auto generation = bench.router.start(bench.request());
    const RoomId room = bench.last_room();
    std::vector<RoomEvent> token;
    token.emplace_back(room, 0, TokenEvent());
    bench.router.inbox().push(RoomEvents(std::move(token)));
    bench.router.inbox().push(LegFailed(room, kPrefill0, Failure(Errc::peer_lost, "prefill/0", "another life")));
    co_await sleep_until(bench.context, bench.context.now() + Duration(1));
    CHECK(bench.router.open_requests() == 1);
    bench.router.inbox().push(LegFailed(room, kDecode0, Failure(Errc::internal, "decode/0", "broken")));
    const FinishEvent finish = co_await end_of(*generation);
    CHECK(finish.failure->message == "broken");
  });
}

TEST_CASE("Router: events reach the front end once and in their order, however they come") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    test::Pick pick(seed);
    Bench bench;
    bench.run([&]() -> Task<> {
      const auto generation = bench.router.start(bench.request());
      const RoomId room = bench.last_room();
      std::vector<RoomEvent> events;
      for (std::uint32_t number = 0; number < 5; ++number) {
        SampledToken token;
        token.id = static_cast<TokenId>(number);
        events.emplace_back(room, number, TokenEvent(token, ""));
      }
      FinishEvent well;
      well.reason = FinishReason::length;
      events.emplace_back(room, 5, well);
      for (std::size_t i = 0; i < 4; ++i) {
        events.push_back(events[pick(6)]);  // what comes twice
      }
      events.emplace_back(room, 6, TokenEvent());              // more than the request can have
      events.emplace_back(room, 4'000'000'000, TokenEvent());  // likewise
      pick.shuffle(events);
      for (RoomEvent& event : events) {
        std::vector<RoomEvent> one;
        one.push_back(std::move(event));
        bench.router.inbox().push(RoomEvents(std::move(one)));
      }
      std::vector<TokenId> tokens;
      std::size_t finishes = 0;
      while (std::optional<GenerationEvent> event = co_await generation->next()) {
        if (const auto* token = std::get_if<TokenEvent>(&*event)) {
          tokens.push_back(token->token.id);
        } else {
          ++finishes;
          CHECK_FALSE(std::get<FinishEvent>(*event).failure.has_value());
        }
      }
      CHECK(tokens == std::vector<TokenId>{0, 1, 2, 3, 4});
      CHECK(finishes == 1);
      CHECK(bench.router.open_requests() == 0);
    });
  }
}

TEST_CASE("Router: a gap among the events that nobody fills ends at the deadline, after what came before it") {
  Bench bench;
  bench.run([&]() -> Task<> {
    GenerationRequest request = bench.request();
    request.time_limit = std::chrono::milliseconds(30);
    const auto generation = bench.router.start(std::move(request));
    const RoomId room = bench.last_room();
    FinishEvent well;
    well.reason = FinishReason::length;
    std::vector<RoomEvent> events;
    events.emplace_back(room, 0, TokenEvent());
    events.emplace_back(room, 2, TokenEvent());
    events.emplace_back(room, 3, well);
    bench.router.inbox().push(RoomEvents(std::move(events)));
    const std::optional<GenerationEvent> first = co_await generation->next();
    CHECK(std::holds_alternative<TokenEvent>(*first));
    const FinishEvent finish = co_await end_of(*generation);
    CHECK(finish.failure->code == Errc::timeout);
  });
}
