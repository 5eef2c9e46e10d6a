// Losing interest, in every state: the verdict comes at once, the pages only when nobody can write them any more.
#include <doctest/doctest.h>

#include "tests/support/run.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::uint32_t kTokens = 18;

Failure client_left() {
  return {Errc::aborted, "decode/0", "the client went away"};
}

Task<> keep_arrival(Pair& pair, TransferId id, TimePoint deadline, std::optional<Arrival>& into) {
  into = co_await pair.decode.receiver.arrived(id, deadline);
}

Task<> keep_push(Pair& pair, Outgoing& outgoing, std::uint32_t first, std::uint32_t pages,
                 std::optional<Result<>>& into) {
  into = co_await pair.compute_and_push(outgoing, first, pages);
}

Task<> keep_finish(Outgoing& outgoing, TimePoint deadline, std::optional<Result<>>& into) {
  into = co_await outgoing.finish(record_of(kTokens, 1), deadline);
}

TEST_CASE("abandon: a waiting arrived() gets the cause at once, and the sender is told to stop") {
  for (const MemoryMode mode : {MemoryMode::shared, MemoryMode::copying}) {
    Pair pair(mode);
    const Landing landing = pair.decode.expect(1, kTokens);
    std::optional<Arrival> arrival;
    pair.background.spawn("wait", keep_arrival(pair, landing.id, kNever, arrival));
    {
      const Opened opened = pair.prefill.sender.open(landing);
      CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 2)).has_value());
      CHECK(!opened.outgoing->failure());
      pair.decode.receiver.abandon(landing.id, client_left());
      pair.decode.receiver.abandon(landing.id, Failure(Errc::timeout, "decode/0", "second"));
      pair.settle();
      REQUIRE(arrival);
      CHECK(arrival->failure->message == "the client went away");
      CHECK(pair.decode.pool.quarantined() == 5);
      REQUIRE(opened.outgoing->failure());
      CHECK(opened.outgoing->failure()->message == "the client went away");
      CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 2, 2)).error() == Errc::aborted);
      CHECK(run(pair.context, opened.outgoing->finish(record_of(kTokens, 1), kNever)).error() == Errc::aborted);
      CHECK(pair.decode.pool.quarantined() == 5);
    }
    pair.settle();
    CHECK(pair.decode.at_rest());
  }
}

TEST_CASE("abandon: before the landing was opened, the pages return at once and the landing cannot be opened") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  pair.decode.receiver.abandon(landing.id, client_left());
  CHECK(pair.decode.receiver.quarantined() == 1);
  pair.settle();
  CHECK(pair.decode.at_rest());
  const Opened opened = pair.prefill.sender.open(landing);
  CHECK(opened.outgoing == nullptr);
  CHECK(opened.refusal.message == "the client went away");
  pair.settle();
  CHECK(pair.decode.receiver.late_notices() == 0);  // the refusal says nothing that has not been said
}

TEST_CASE("abandon: where nobody waits the room is forgotten, an arrived prompt with its pages") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  const Opened opened = pair.prefill.sender.open(landing);
  CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 5)).has_value());
  CHECK(run(pair.context, opened.outgoing->finish(record_of(kTokens, 1), kNever)).has_value());
  CHECK(pair.decode.receiver.open_transfers() == 1);
  CHECK(pair.decode.pool.leased() == 5);
  pair.decode.receiver.abandon(landing.id, client_left());
  CHECK(pair.decode.at_rest());
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  CHECK(arrival.failure->code == Errc::aborted);
  pair.decode.receiver.abandon(landing.id, client_left());
  pair.decode.receiver.abandon(TransferId{kInstance, {999}}, client_left());
}

TEST_CASE("abandon: the deadline of arrived() is a verdict too, and pages wait for the sender") {
  Pair pair(MemoryMode::shared);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, pair.in(30)));
    CHECK(arrival.failure->code == Errc::timeout);
    CHECK(pair.context.now().time_since_epoch() == 30ms);
    CHECK(pair.decode.pool.quarantined() == 5);
    pair.context.run_until(pair.in(3'600'000));  // no time makes it safe
    CHECK(pair.decode.pool.quarantined() == 5);
    CHECK(opened.outgoing->failure()->code == Errc::timeout);
  }
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("abandon: a verdict that came before its deadline wins, whenever it is looked at") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  const Opened opened = pair.prefill.sender.open(landing);
  CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 5)).has_value());
  CHECK(run(pair.context, opened.outgoing->finish(record_of(kTokens, 1), kNever)).has_value());
  pair.context.run_until(pair.in(100));
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, TimePoint() + 50ms));
  CHECK(arrival.ok());
}

TEST_CASE("abandon: a cancelled arrived() gives the room up") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  std::optional<Arrival> arrival;
  TaskHandle wait = pair.background.spawn("wait", keep_arrival(pair, landing.id, pair.in(1000), arrival));
  {
    const Opened opened = pair.prefill.sender.open(landing);
    pair.settle();
    wait.cancel();
    pair.settle();
    CHECK(wait.done());
    CHECK(!arrival);
    CHECK(pair.decode.receiver.open_transfers() == 0);
    CHECK(pair.decode.pool.quarantined() == 5);
    CHECK(opened.outgoing->failure()->code == Errc::aborted);
  }
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("abandon: the sender's deadline ends finish(), the receiver hears the cause") {
  ScriptedFaults loses_record({{2, Fault{FaultKind::drop}}});  // 0: the write, 1: its notice, 2: the record
  Pair pair(MemoryMode::copying, &loses_record);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 5)).has_value());
    CHECK(run(pair.context, opened.outgoing->finish(record_of(kTokens, 1), pair.in(20))).error() == Errc::timeout);
    CHECK(pair.context.now().time_since_epoch() == 20ms);
  }
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  CHECK(arrival.failure->code == Errc::timeout);
  CHECK(arrival.failure->origin == "prefill/0");
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("abandon: a cancelled finish() or push() fails the hand-over on both sides") {
  // Operations: 0 write, 1 failed, 2 closed; of the second room 3 write, 4 its notice, 5 record.
  ScriptedFaults slow({{0, Fault{FaultKind::delay, 50ms}}, {5, Fault{FaultKind::drop}}});
  Pair pair(MemoryMode::copying, &slow);
  for (const bool in_push : {true, false}) {
    const Landing landing = pair.decode.expect(in_push ? 1 : 2, kTokens);
    std::optional<Result<>> pushed;
    std::optional<Result<>> finished;
    {
      const Opened opened = pair.prefill.sender.open(landing);
      TaskHandle task = pair.background.spawn("push", keep_push(pair, *opened.outgoing, 0, 5, pushed));
      pair.settle();
      if (!in_push) {
        task = pair.background.spawn("finish", keep_finish(*opened.outgoing, kNever, finished));
        pair.settle();
      }
      CHECK(pushed.has_value() == !in_push);
      task.cancel();
      pair.settle();
      CHECK(task.done());
      CHECK(!finished);
      CHECK(opened.outgoing->failure()->code == Errc::aborted);
      CHECK(pair.decode.arena.poisoned(landing.pages[0]) == in_push);  // what was cancelled never lands
    }
    const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
    CHECK(arrival.failure->message == "the hand-over was interrupted");
    pair.context.run_until(pair.in(100));
    CHECK(pair.decode.at_rest());
  }
}

TEST_CASE("abandon: a peer that is gone ends its rooms on the other side, whichever it was") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  const Landing quarantined = pair.decode.expect(2, kTokens);
  std::optional<Arrival> arrival;
  std::optional<Result<>> finished;
  pair.background.spawn("wait", keep_arrival(pair, landing.id, kNever, arrival));
  pair.decode.receiver.abandon(quarantined.id, client_left());
  const Opened opened = pair.prefill.sender.open(landing);
  pair.background.spawn("finish", keep_finish(*opened.outgoing, kNever, finished));
  pair.prefill.sender.peer_gone(decode_peer(0));
  pair.decode.receiver.peer_gone(prefill_peer(0));
  pair.settle();
  REQUIRE(arrival);
  CHECK(arrival->failure->code == Errc::peer_lost);
  REQUIRE(finished);
  CHECK(finished->error() == Errc::peer_lost);
  CHECK(pair.decode.at_rest());
  auto lease = pair.decode.pool.acquire(5);
  CHECK(pair.decode.receiver.expect(Expectation(RoomId{3}, prefill_peer(0), std::move(*lease), kTokens)).error() ==
        Errc::peer_lost);
}

// handover.md 17.12 T1, #24527: a pool of one prompt, A's write delayed past its abort, B waiting for the pages.
TEST_CASE("abandon: pages with a write under way are never given to the next request") {
  ScriptedFaults slow({{0, Fault{FaultKind::delay, 50ms}}});
  Pair pair(MemoryMode::copying, &slow, 5);
  const Landing a = pair.decode.expect(1, kTokens);
  std::optional<Result<>> pushed;
  {
    const Opened opened = pair.prefill.sender.open(a);
    pair.background.spawn("push", keep_push(pair, *opened.outgoing, 0, 5, pushed));
    pair.context.run_until(pair.in(10));
    pair.decode.receiver.abandon(a.id, client_left());
    CHECK(!pair.decode.pool.acquire(1));
    pair.context.run_until(pair.in(39));
    CHECK(!pushed);
    CHECK(!pair.decode.pool.acquire(1));
    pair.context.run_until(pair.in(1));
    REQUIRE(pushed);
    CHECK(page_holds(pair.decode.arena.page(a.pages[4]), RoomId{1}, 4));  // it did land
    CHECK(!pair.decode.pool.acquire(1));
  }
  pair.settle();
  const Landing b = pair.decode.expect(2, kTokens);  // and the poison was whole again
  const Opened opened = pair.prefill.sender.open(b);
  CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 5)).has_value());
  CHECK(run(pair.context, opened.outgoing->finish(record_of(kTokens, 7), kNever)).has_value());
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(b.id, kNever));
  CHECK(arrival.ok());
  CHECK(holds_prompt(pair.decode.arena, arrival.lease, RoomId{2}));
}

}  // namespace
}  // namespace baton::test
