// The decode rank alone: what it answers to jobs, refusals and cancels in any order.
#include "roles/decode.h"

#include <doctest/doctest.h>

#include "tests/support/leg_bench.h"

using namespace baton;

namespace {

// One decode rank, and the sending half of a prefill rank to hand over from.
struct Bench : test::LegBench<ToyEngine> {
  DecodeRank rank;

  explicit Bench(DecodeConfig config = {})
      : LegBench(16, {Role::decode, 0}),
        rank({context, decode, engine, &receiver, arena, pool, link, peers, rules, metrics, trace}, config) {}

  Job job(std::uint64_t room, std::uint32_t tokens, std::uint32_t max_tokens = 4) {
    return LegBench::job(room, tokens, max_tokens);
  }

  std::vector<Landing> landings() const { return link.messages<Landing>(); }

  void push(RankMessage message) { rank.inbox().push(std::move(message)); }

  Task<> settle() { co_await sleep_until(context, context.now() + std::chrono::milliseconds(1)); }

  // What a prefill rank does with a landing, on this bench's engine.
  Task<bool> hand_over(Landing landing) {
    Opened opened = sender.open(landing);
    const std::vector<TokenId> prompt(landing.prompt_tokens, 5);
    const SamplingParams sampling;
    StepSequence sequence;
    sequence.tokens = prompt;
    sequence.arena = opened.outgoing->direct_arena();
    sequence.pages = landing.pages;
    sequence.sampling = &sampling;
    StepBatch batch;
    batch.sequences.push_back(sequence);
    Task<StepOutput> step = engine.step(std::move(batch));
    StepOutput output = co_await std::move(step);
    const Result<> pushed = co_await opened.outgoing->push(0, landing.pages, nullptr);
    SideRecord record(landing.prompt_tokens, *output.sampled[0], 0, {});
    const Result<> finished = co_await opened.outgoing->finish(std::move(record), kNever);
    co_return pushed.has_value() && finished.has_value();
  }

  template <class Script>
  void run(Script script) {
    run_rank(rank, sender.serve(), [&]() -> Task<> {
      co_await script();
      for (const Landing& landing : landings()) {
        sender.refuse(landing, Failure(Errc::aborted, "bench", "over"));  // no effect on those that were opened
      }
    });
  }
};

}  // namespace

TEST_CASE("Decode: pages are reserved before prefill computes, and the hand-over's first token is the first event") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40));
    co_await bench.settle();
    REQUIRE(bench.landings().size() == 1);
    CHECK(bench.landings()[0].pages.size() == 3);
    CHECK(bench.pool.leased() == 3);
    const bool handed = co_await bench.hand_over(bench.landings()[0]);
    CHECK(handed);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(20));
    REQUIRE(bench.link.events.size() == 5);
    const auto expected = ToyEngine::reference(std::vector<TokenId>(40, 5), 4, 997, 0);
    for (std::uint32_t i = 0; i < 5; ++i) {
      CHECK(bench.link.events[i].number == i);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::get<TokenEvent>(bench.link.events[i].event).token.id == expected[i]);
    }
    CHECK(std::get<FinishEvent>(bench.link.events[4].event).reason == FinishReason::length);
  });
}

TEST_CASE("Decode: prefill's refusal ends the room at once and frees what waited for it") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40));
    co_await bench.settle();
    bench.push(LegFailed(RoomId{1}, bench.prefill.rank, Failure(Errc::too_large, "prefill/0", "too long")));
    co_await bench.settle();
    REQUIRE(bench.link.failures.size() == 1);
    CHECK(bench.link.failures[0].failure.code == Errc::too_large);
    CHECK(bench.link.failures[0].failure.origin == "prefill/0");
    bench.sender.refuse(bench.landings()[0], Failure(Errc::aborted, "prefill/0", "never opened"));
    co_await bench.settle();
    CHECK(bench.pool.drained());
  });
}

TEST_CASE("Decode: a cancel or refusal that overtakes the job leaves nothing behind") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(CancelRoom(RoomId{1}, Failure(Errc::aborted, "router", "gone")));
    bench.push(LegFailed(RoomId{2}, bench.prefill.rank, Failure(Errc::overloaded, "prefill/0", "full")));
    bench.push(bench.job(1, 40));
    bench.push(bench.job(2, 40));
    co_await bench.settle();
    CHECK(bench.landings().empty());
    CHECK(bench.pool.drained());
  });
}

TEST_CASE("Decode: what can never fit is refused with the numbers, and prefill is told") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 250, 7));  // 257 positions; the pool has 256
    co_await bench.settle();
    REQUIRE(bench.link.failures.size() == 1);
    CHECK(bench.link.failures[0].failure.code == Errc::too_large);
    CHECK(bench.link.failures[0].failure.message.find("256") != std::string::npos);
    CHECK(bench.link.messages<CancelRoom>().size() == 1);
  });
}

TEST_CASE("Decode: a full queue is overloaded, and whoever waits is admitted when pages come back") {
  DecodeConfig config;
  config.waiting_max = 1;
  Bench bench(config);
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 200));
    co_await bench.settle();
    bench.push(bench.job(2, 200));  // waits
    bench.push(bench.job(3, 200));  // no place to wait
    co_await bench.settle();
    REQUIRE(bench.link.failures.size() == 1);
    CHECK(bench.link.failures[0].room == RoomId{3});
    CHECK(bench.link.failures[0].failure.code == Errc::overloaded);
    CHECK(bench.landings().size() == 1);
    const bool handed = co_await bench.hand_over(bench.landings()[0]);
    CHECK(handed);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(20));
    CHECK(bench.landings().size() == 2);
  });
}

TEST_CASE("Decode: an aborted hand-over's pages wait for their writer and nobody gets them before") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 200));
    co_await bench.settle();
    Opened opened = bench.sender.open(bench.landings()[0]);
    bench.push(CancelRoom(RoomId{1}, Failure(Errc::aborted, "router", "gone")));
    bench.push(bench.job(2, 200));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::seconds(5));
    CHECK(bench.link.failures.size() == 1);
    CHECK(bench.receiver.quarantined() == 1);
    CHECK(bench.landings().size() == 1);  // room 2 waits, however long
    opened.outgoing.reset();              // the writer lets go
    co_await bench.settle();
    CHECK(bench.receiver.quarantined() == 0);
    CHECK(bench.landings().size() == 2);
  });
}

TEST_CASE("Decode: a job for another life of the rank, or from one that is gone, is refused to both") {
  Bench bench;
  bench.run([&]() -> Task<> {
    Job job = bench.job(1, 40);
    job.decode.instance = {7, 7};
    bench.push(std::move(job));
    bench.push(PeersGone({bench.prefill}));
    bench.push(bench.job(2, 40));
    co_await bench.settle();
    CHECK(bench.landings().empty());
    REQUIRE(bench.link.failures.size() == 2);
    CHECK(bench.link.failures[0].room == RoomId{1});
    CHECK(bench.link.failures[0].failure.code == Errc::peer_lost);
    CHECK(bench.link.failures[1].room == RoomId{2});
    CHECK(bench.link.failures[1].failure.code == Errc::peer_lost);
    CHECK(bench.link.messages<CancelRoom>().size() == 2);
  });
}

TEST_CASE("Decode: the loss of the prefill rank ends who waits for it and nobody else") {
  DecodeConfig config;
  config.admission.lookahead_tokens = 0;
  Bench bench(config);
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 30, 100));
    co_await bench.settle();
    const bool handed = co_await bench.hand_over(bench.landings()[0]);
    CHECK(handed);
    bench.push(bench.job(2, 100));  // in transfer
    bench.push(bench.job(3, 200));  // waits for pages
    co_await bench.settle();
    CHECK(bench.landings().size() == 2);
    bench.push(PeersGone({bench.prefill}));
    co_await bench.settle();
    CHECK(bench.link.failures.size() == 2);
    for (const LegFailed& failed : bench.link.failures) {
      CHECK(failed.room != RoomId{1});
      CHECK(failed.failure.code == Errc::peer_lost);
    }
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::seconds(1));
    CHECK(std::holds_alternative<FinishEvent>(bench.link.events.back().event));
    CHECK(bench.pool.drained());
  });
}

TEST_CASE("Decode: what prefill says about a room that has been handed over does not end it") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40, 100));
    co_await bench.settle();
    const bool handed = co_await bench.hand_over(bench.landings()[0]);
    CHECK(handed);
    bench.push(LegFailed(RoomId{1}, bench.prefill.rank, Failure(Errc::peer_lost, "prefill/0", "another life")));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::seconds(1));
    CHECK(bench.link.failures.empty());
    CHECK(bench.link.events.size() == 101);
  });
}

TEST_CASE("Decode: its history names each event of a room with the state it met") {
  using State = room_event::DecodeState;
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40, 2));
    co_await bench.settle();
    const bool handed = co_await bench.hand_over(bench.landings()[0]);
    CHECK(handed);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(20));
    bench.push(LegFailed(RoomId{1}, bench.prefill.rank, Failure(Errc::aborted, "prefill/0", "late")));
    co_await bench.settle();
  });
  const auto met = [&](const char* event, State state) {
    return bench.states(event, 1) == std::vector<std::uint64_t>{static_cast<std::uint64_t>(state)};
  };
  CHECK(met(room_event::kJob, State::unknown));
  CHECK(met(room_event::kAdmitted, State::prealloc));
  CHECK(met(room_event::kVerdictOk, State::transfer));
  CHECK(met(room_event::kToken, State::ready));
  CHECK(met(room_event::kStepDone, State::running));
  CHECK(met(room_event::kLastToken, State::running));
  CHECK(met(room_event::kLegFailed, State::tombstone));
}
