// The prefill rank alone: what it answers to jobs, landings and cancels in any order.
#include "roles/prefill.h"

#include <doctest/doctest.h>

#include "tests/support/leg_bench.h"

using namespace baton;

namespace {

// An engine that fails when told to.
class FragileEngine final : public Engine {
 public:
  FragileEngine(Context& context, ToyEngineConfig config) : inner_(context, config) {}
  Task<StepOutput> step(StepBatch batch) override {
    if (broken) {
      throw Error(Errc::internal, "the device fell off the bus");
    }
    return inner_.step(std::move(batch));
  }
  const KvLayout& kv_layout() const noexcept override { return inner_.kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_.vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_.context_length(); }
  bool broken = false;

 private:
  ToyEngine inner_;
};

// One prefill rank, and the receiving half of a decode rank to hand over to.
struct Bench : test::LegBench<FragileEngine> {
  PrefillRank rank;

  explicit Bench(PrefillConfig config = {})
      : LegBench(64, {Role::prefill, 0}),
        rank({context, prefill, engine, sender, nullptr, nullptr, link, peers, rules, metrics, trace}, config) {}

  Job job(std::uint64_t room, std::uint32_t tokens, Duration limit = std::chrono::seconds(10)) {
    return LegBench::job(room, tokens, 16, limit);
  }

  Landing landing(std::uint64_t room, std::uint32_t tokens) {
    std::optional<KvLease> lease = pool.acquire(pool.layout().pages_for(tokens));
    Expectation expectation(RoomId{room}, prefill, std::move(*lease), tokens);
    return receiver.expect(std::move(expectation)).value();
  }

  Task<Arrival> arrival(std::uint64_t room) {
    return receiver.arrived({decode.instance, RoomId{room}}, context.now() + std::chrono::seconds(20));
  }

  void push(RankMessage message) { rank.inbox().push(std::move(message)); }

  template <class Script>
  void run(Script script) {
    run_rank(rank, receiver.serve(), script);
  }

  std::vector<LegFailed> told_decode() const { return link.messages<LegFailed>(); }
};

}  // namespace

TEST_CASE("Prefill: a landing that comes before its job waits for it") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.landing(1, 40));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));
    bench.push(bench.job(1, 40));
    const Arrival arrival = co_await bench.arrival(1);
    CHECK(arrival.ok());
    CHECK(arrival.record.first.id == ToyEngine::reference(std::vector<TokenId>(40, 5), 1, 997, 0).front());
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));  // the answer's way back
  });
  CHECK(bench.link.done == 1);
  CHECK(bench.link.failures.empty());
}

TEST_CASE("Prefill: a cancel that overtakes job and landing refuses both, with its cause") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(CancelRoom(RoomId{1}, Failure(Errc::aborted, "router", "gone")));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(1));
    bench.push(bench.job(1, 40));
    bench.push(bench.landing(1, 40));
    const Arrival arrival = co_await bench.arrival(1);
    REQUIRE(arrival.failure.has_value());
    CHECK(arrival.failure->code == Errc::aborted);
    CHECK(arrival.failure->message == "gone");
    CHECK(bench.receiver.quarantined() == 0);
  });
  CHECK(bench.link.done == 0);
}

TEST_CASE("Prefill: a job that comes twice is one job") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40));
    bench.push(bench.job(1, 40));
    bench.push(bench.landing(1, 40));
    const Arrival arrival = co_await bench.arrival(1);
    CHECK(arrival.ok());
    bench.push(bench.job(1, 40));  // late: the room is over
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));
  });
  CHECK(bench.link.done == 1);
  CHECK(bench.told_decode().empty());
}

TEST_CASE("Prefill: a landing for another number of tokens fails the room on both sides") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40));
    bench.push(bench.landing(1, 48));
    const Arrival arrival = co_await bench.arrival(1);
    REQUIRE(arrival.failure.has_value());
    CHECK(arrival.failure->code == Errc::corrupt);
  });
  REQUIRE(bench.link.failures.size() == 1);
  CHECK(bench.link.failures[0].failure.message.find("48") != std::string::npos);
}

TEST_CASE("Prefill: more rooms than allowed are refused to both legs as overloaded") {
  PrefillConfig config;
  config.rooms_max = 2;
  Bench bench(config);
  bench.run([&]() -> Task<> {
    for (std::uint64_t room = 1; room <= 3; ++room) {
      bench.push(bench.job(room, 10));
    }
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(1));
    REQUIRE(bench.told_decode().size() == 1);
    CHECK(bench.told_decode()[0].room == RoomId{3});
    CHECK(bench.told_decode()[0].failure.code == Errc::overloaded);
    CHECK(bench.link.failures.size() == 1);
  });
}

TEST_CASE("Prefill: a prompt longer than the model's context is refused at once") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 5000));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(1));
    REQUIRE(bench.told_decode().size() == 1);
    CHECK(bench.told_decode()[0].failure.code == Errc::too_large);
  });
}

TEST_CASE("Prefill: a failing device ends the rooms of that step and not the rank") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.engine.broken = true;
    bench.push(bench.job(1, 40));
    bench.push(bench.landing(1, 40));
    const Arrival first = co_await bench.arrival(1);
    REQUIRE(first.failure.has_value());
    CHECK(first.failure->code == Errc::internal);
    bench.engine.broken = false;
    bench.push(bench.job(2, 40));
    bench.push(bench.landing(2, 40));
    const Arrival second = co_await bench.arrival(2);
    CHECK(second.ok());
  });
}

TEST_CASE("Prefill: an abandoned landing's pages stay in quarantine until the step that writes them has ended") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 200));
    bench.push(bench.landing(1, 200));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::microseconds(500));  // in the middle
    bench.receiver.abandon({bench.decode.instance, RoomId{1}}, Failure(Errc::aborted, "test", "gone"));
    bench.push(CancelRoom(RoomId{1}, Failure(Errc::aborted, "test", "gone")));
    CHECK(bench.receiver.quarantined() == 1);
    CHECK(bench.pool.free() == 64 - 13);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(10));
    CHECK(bench.receiver.quarantined() == 0);
    CHECK(bench.pool.drained());
  });
}

TEST_CASE("Prefill: the deadline ends a room that never gets a landing") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 40, std::chrono::milliseconds(50)));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(60));
    REQUIRE(bench.told_decode().size() == 1);
    CHECK(bench.told_decode()[0].failure.code == Errc::timeout);
    bench.push(bench.landing(1, 40));  // too late: refused, not kept
    const Arrival arrival = co_await bench.arrival(1);
    CHECK_FALSE(arrival.ok());
  });
}

TEST_CASE("Prefill: a job for another life of the rank, or for a decode rank that is gone, is refused to both") {
  Bench bench;
  bench.run([&]() -> Task<> {
    Job job = bench.job(1, 40);
    job.prefill.instance = {7, 7};
    bench.push(std::move(job));
    bench.push(PeersGone({bench.decode}));
    bench.push(bench.job(2, 40));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(1));
    REQUIRE(bench.told_decode().size() == 2);
    REQUIRE(bench.link.failures.size() == 2);
    for (const LegFailed& failed : bench.link.failures) {
      CHECK(failed.failure.code == Errc::peer_lost);
    }
  });
}

TEST_CASE("Prefill: the loss of the decode rank ends its rooms wherever they are, without a landing too") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.job(1, 200));
    bench.push(bench.landing(1, 200));
    bench.push(bench.job(2, 40));
    const Landing early = bench.landing(3, 40);
    bench.push(early);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::microseconds(500));  // in a step
    bench.push(PeersGone({bench.decode}));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(10));
    CHECK(bench.link.failures.size() == 2);
    CHECK(bench.rank.drained());
    bench.sender.refuse(early, Failure(Errc::aborted, "bench", "the decode rank here is alive after all"));
  });
}

TEST_CASE("Prefill: a landing that comes twice is one landing, before its job as after it") {
  Bench bench;
  bench.run([&]() -> Task<> {
    const Landing first = bench.landing(1, 40);
    bench.push(first);
    bench.push(first);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));
    bench.push(bench.job(1, 40));
    bench.push(first);
    const Arrival arrival = co_await bench.arrival(1);
    CHECK(arrival.ok());
    bench.push(first);
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));
  });
  CHECK(bench.link.done == 1);
  CHECK(bench.link.failures.empty());
}

TEST_CASE("Prefill: a landing from a rank that is not the job's decode rank fails the room") {
  Bench bench;
  bench.run([&]() -> Task<> {
    Job job = bench.job(1, 40);
    job.decode.instance = {9, 9};
    bench.push(std::move(job));
    bench.push(bench.landing(1, 40));
    const Arrival arrival = co_await bench.arrival(1);
    REQUIRE(arrival.failure.has_value());
  });
}

TEST_CASE("Prefill: a landing whose job never comes is refused after its lifetime, and its pages return") {
  PrefillConfig config;
  config.early_landing_lifetime = std::chrono::milliseconds(50);
  Bench bench(config);
  bench.run([&]() -> Task<> {
    bench.push(bench.landing(1, 40));
    bench.push(bench.landing(2, 40));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(30));
    bench.push(bench.job(2, 40));
    const Arrival second = co_await bench.arrival(2);
    CHECK(second.ok());
    const Arrival first = co_await bench.arrival(1);
    REQUIRE(first.failure.has_value());
    CHECK(first.failure->code == Errc::timeout);
    CHECK(bench.context.now() == TimePoint{} + Duration(std::chrono::milliseconds(50)));
    CHECK(bench.receiver.quarantined() == 0);
    bench.push(bench.job(1, 40));  // too late, and answered by nobody: decode has told the router
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(1));
  });
  CHECK(bench.link.done == 1);
}

TEST_CASE("Prefill: a landing that waited for a job which is refused is refused with it") {
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.landing(1, 40));
    bench.push(bench.job(1, 5000));
    const Arrival arrival = co_await bench.arrival(1);
    REQUIRE(arrival.failure.has_value());
    CHECK(arrival.failure->code == Errc::too_large);
    CHECK(bench.pool.drained());
  });
}

TEST_CASE("Prefill: its history names each event of a room with the state it met") {
  using State = room_event::PrefillState;
  Bench bench;
  bench.run([&]() -> Task<> {
    bench.push(bench.landing(1, 40));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(1));
    bench.push(bench.job(1, 40));
    const Arrival arrival = co_await bench.arrival(1);
    CHECK(arrival.ok());
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));
    bench.push(CancelRoom(RoomId{1}, Failure(Errc::aborted, "router", "late")));
    co_await sleep_until(bench.context, bench.context.now() + std::chrono::milliseconds(5));
  });
  const auto met = [&](const char* event, State state) {
    return bench.states(event, 1) == std::vector<std::uint64_t>{static_cast<std::uint64_t>(state)};
  };
  CHECK(met(room_event::kLanding, State::unknown));
  CHECK(met(room_event::kJob, State::early_landing));
  CHECK(met(room_event::kLastChunk, State::waiting));
  CHECK(met(room_event::kPushed, State::inflight));
  CHECK(met(room_event::kAnswered, State::inflight));
  CHECK(met(room_event::kCancel, State::tombstone));
}
