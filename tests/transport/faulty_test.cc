// Each fault alone, by script. Operations of one prefill endpoint are counted: a chunk is a write and its notice.
#include <doctest/doctest.h>

#include "tests/support/run.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::uint32_t kTokens = 18;
// Operations of a hand-over in two chunks, as below.
constexpr std::uint64_t kFirstWrite = 0;
constexpr std::uint64_t kFirstNotice = 1;
constexpr std::uint64_t kSecondNotice = 3;
constexpr std::uint64_t kRecord = 4;

struct Outcome {
  std::optional<Arrival> arrival;
  Duration arrived_at{};
  Errc sent = Errc{};  // zero: success
  bool contents_right = false;
  std::uint64_t faults = 0;
  bool clean = false;  // nothing left behind
};

Task<> send(Pair& pair, Landing landing, Outcome& outcome) {
  const Opened opened = pair.prefill.sender.open(landing);
  Result<> result = co_await pair.compute_and_push(*opened.outgoing, 0, 3);
  if (result) {
    result = co_await pair.compute_and_push(*opened.outgoing, 3, 2);
  }
  if (result) {
    result = co_await opened.outgoing->finish(record_of(kTokens, 42), TimePoint() + 300ms);
  }
  outcome.sent = result ? Errc{} : opened.outgoing->failure()->code;
}

Task<> receive(Pair& pair, TransferId id, Outcome& outcome) {
  outcome.arrival = co_await pair.decode.receiver.arrived(id, TimePoint() + 200ms);
  outcome.arrived_at = pair.context.now().time_since_epoch();
}

Outcome with_faults(std::map<std::uint64_t, Fault> script) {
  ScriptedFaults plan(std::move(script));
  Pair pair(MemoryMode::copying, &plan);
  Outcome outcome;
  const Landing landing = pair.decode.expect(1, kTokens);
  pair.background.spawn("send", send(pair, landing, outcome));
  pair.background.spawn("receive", receive(pair, landing.id, outcome));
  pair.context.run_until(pair.in(1000));
  REQUIRE(outcome.arrival);
  outcome.contents_right = holds_prompt(pair.decode.arena, outcome.arrival->lease, RoomId{1});
  outcome.arrival->lease.release();
  outcome.faults = pair.prefill.faulty->faults();
  outcome.clean =
      pair.decode.at_rest() && pair.prefill.sender.open_transfers() == 0 && pair.prefill.faulty->delayed() == 0;
  return outcome;
}

void check_success(const Outcome& outcome) {
  CHECK(outcome.arrival->ok());
  CHECK(outcome.contents_right);
  CHECK(outcome.sent == Errc{});
  CHECK(outcome.faults == 1);
  CHECK(outcome.clean);
}

void check_failure(const Outcome& outcome, Errc verdict, Errc sent) {
  CHECK(outcome.arrival->failure->code == verdict);
  CHECK(outcome.sent == sent);
  CHECK(outcome.faults == 1);
  CHECK(outcome.clean);
}

TEST_CASE("FaultyEndpoint: without faults it changes nothing") {
  const Outcome outcome = with_faults({});
  CHECK(outcome.arrival->ok());
  CHECK(outcome.contents_right);
  CHECK(outcome.faults == 0);
  CHECK(outcome.arrived_at == 0ms);
}

TEST_CASE("FaultyEndpoint: a delay takes its time, in virtual time") {
  for (const std::uint64_t operation : {kFirstWrite, kFirstNotice, kRecord}) {
    const Outcome outcome = with_faults({{operation, Fault{FaultKind::delay, 70ms}}});
    check_success(outcome);
    CHECK(outcome.arrived_at == 70ms);
  }
}

TEST_CASE("FaultyEndpoint: duplicates and overtaking change no outcome") {
  for (std::uint64_t operation = kFirstWrite; operation <= kRecord; ++operation) {
    check_success(with_faults({{operation, Fault{FaultKind::duplicate, 30ms}}}));
    check_success(with_faults({{operation, Fault{FaultKind::hold_back, 30ms}}}));
  }
}

TEST_CASE("FaultyEndpoint: what is held back lets exactly the next one pass") {
  const Outcome outcome = with_faults({{kFirstNotice, Fault{FaultKind::hold_back, 30ms}}});
  CHECK(outcome.arrived_at == 0ms);  // came right after the second chunk's notice, not after 30 ms
  CHECK(with_faults({{kRecord, Fault{FaultKind::hold_back, 30ms}}}).arrived_at == 30ms);  // nothing follows a record
}

TEST_CASE("FaultyEndpoint: a lost write or notice is a timeout, never a success") {
  for (const std::uint64_t operation : {kFirstWrite, kFirstNotice, kSecondNotice, kRecord}) {
    const Outcome outcome = with_faults({{operation, Fault{FaultKind::drop}}});
    check_failure(outcome, Errc::timeout, Errc::timeout);
    CHECK(outcome.arrived_at == 200ms);
  }
}

TEST_CASE("FaultyEndpoint: a failed or torn write fails both sides at once") {
  for (const FaultKind kind : {FaultKind::fail, FaultKind::tear}) {
    const Outcome outcome = with_faults({{kFirstWrite, Fault{kind}}});
    check_failure(outcome, Errc::transfer_failed, Errc::transfer_failed);
    CHECK(outcome.arrived_at == 0ms);
  }
}

TEST_CASE("FaultyEndpoint: a torn record is corrupt") {
  check_failure(with_faults({{kRecord, Fault{FaultKind::tear}}}), Errc::corrupt, Errc::corrupt);
}

TEST_CASE("FaultyEndpoint: a torn write applies a part and no more, down to half a page") {
  for (const double fraction : {0.0, 0.3, 0.5, 0.99}) {
    ScriptedFaults plan({{0, Fault{FaultKind::tear, {}, fraction}}});
    Pair pair(MemoryMode::copying, &plan);
    const Landing landing = pair.decode.expect(1, kTokens);
    {
      const Opened opened = pair.prefill.sender.open(landing);
      const Result<> pushed = run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 5));
      CHECK(pushed.error() == Errc::transfer_failed);
      const std::size_t page_bytes = tiny_layout().page_bytes();
      const auto halves = static_cast<std::size_t>(10 * fraction);
      for (std::size_t half = 0; half < 10; ++half) {
        const auto page = pair.decode.arena.page(landing.pages[half / 2]).subspan(half % 2 * page_bytes / 2).first(1);
        std::vector<std::byte> computed(page_bytes);
        fill_page(computed, RoomId{1}, static_cast<std::uint32_t>(half / 2));
        CHECK((page[0] == computed[half % 2 * page_bytes / 2]) == (half < halves));
      }
    }
    CHECK(run(pair.context, pair.decode.receiver.arrived(landing.id, kNever)).failure->code == Errc::transfer_failed);
  }
}

TEST_CASE("FaultyEndpoint: a plan knows the room and the target of every operation") {
  struct Watching final : FaultPlan {
    std::vector<FaultPoint> points;
    Fault next(const FaultPoint& point) override {
      points.push_back(point);
      return {};
    }
  } plan;
  Pair pair(MemoryMode::copying, &plan);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 5)).has_value());
    opened.outgoing->fail(Failure(Errc::internal, "prefill/0", "over"));
  }
  REQUIRE(plan.points.size() == 4);  // a write, its notice, failed, closed
  for (const FaultPoint& point : plan.points) {
    CHECK(point.id == landing.id);
    CHECK(point.to == decode_peer(0));
  }
  CHECK(plan.points[0].is_write);
  CHECK(plan.points[3].notice == NoticeKind::closed);
}

TEST_CASE("RandomFaults: the same seed gives the same faults, the rates are kept, `closed` is never lost by default") {
  FaultRates rates;
  rates.delay = 0.1;
  rates.drop = 0.2;
  rates.tear = 0.1;
  rates.delay_max = 5ms;
  RandomFaults first(7, rates);
  RandomFaults second(7, rates);
  std::map<FaultKind, int> counts;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    FaultPoint point;
    point.operation = i;
    const Fault fault = first.next(point);
    const Fault again = second.next(point);
    REQUIRE(fault.kind == again.kind);
    REQUIRE(fault.delay == again.delay);
    REQUIRE(fault.delay >= 0ms);
    REQUIRE(fault.delay <= 5ms);
    ++counts[fault.kind];
  }
  CHECK(counts[FaultKind::delay] == doctest::Approx(1000).epsilon(0.15));
  CHECK(counts[FaultKind::drop] == doctest::Approx(2000).epsilon(0.15));
  CHECK(counts[FaultKind::none] == doctest::Approx(6000).epsilon(0.15));
  rates.drop = 1;
  RandomFaults drops(1, rates);
  FaultPoint closed;
  closed.notice = NoticeKind::closed;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(drops.next(closed).kind == FaultKind::delay);
  }
}

}  // namespace
}  // namespace baton::test
