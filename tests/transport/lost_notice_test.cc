// A notice that is lost delays a hand-over and no more: each kind is lost once, in virtual time, and the room still
// ends as it would have ended.
#include <doctest/doctest.h>

#include "tests/support/run.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::uint32_t kTokens = 18;
constexpr std::uint32_t kPages = 5;

// Loses the first `count` notices of a kind.
class LosesFirst final : public FaultPlan {
 public:
  LosesFirst(NoticeKind kind, int count) : kind_(kind), left_(count) {}

  Fault next(const FaultPoint& point) override {
    if (point.is_write || point.notice != kind_ || left_ == 0) {
      return {};
    }
    --left_;
    return Fault{FaultKind::drop};
  }
  int left() const { return left_; }

 private:
  NoticeKind kind_;
  int left_;
};

Failure client_left() {
  return {Errc::aborted, "decode/0", "the client went away"};
}

Task<> keep_arrival(Pair& pair, TransferId id, TimePoint deadline, std::optional<Arrival>& into) {
  into = co_await pair.decode.receiver.arrived(id, deadline);
}

// One hand-over in two chunks.
Result<> hand_over(Pair& pair, const Landing& landing, TimePoint deadline) {
  const Opened opened = pair.prefill.sender.open(landing);
  REQUIRE(opened.outgoing != nullptr);
  CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 2)).has_value());
  CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 2, 3)).has_value());
  return run(pair.context, opened.outgoing->finish(record_of(kTokens, 7), deadline));
}

void check_arrives_after(Pair& pair, const LosesFirst& plan, Duration delay) {
  const Landing landing = pair.decode.expect(1, kTokens);
  std::optional<Arrival> arrival;
  pair.background.spawn("wait", keep_arrival(pair, landing.id, pair.in(60'000), arrival));
  CHECK(hand_over(pair, landing, pair.in(60'000)).has_value());
  CHECK(pair.context.now().time_since_epoch() == delay);
  CHECK(plan.left() == 0);
  REQUIRE(arrival);
  REQUIRE(arrival->ok());
  CHECK(holds_prompt(pair.decode.arena, arrival->lease, RoomId{1}));
  arrival.reset();
  pair.context.run();
  CHECK(pair.context.now().time_since_epoch() == delay);  // nothing is repeated any more
  CHECK(pair.decode.at_rest());
}

TEST_CASE("lost notice: a record or a written notice is said again by finish()") {
  for (const MemoryMode mode : {MemoryMode::shared, MemoryMode::copying}) {
    for (const NoticeKind kind : {NoticeKind::record, NoticeKind::written}) {
      INFO(to_string(kind));
      LosesFirst once(kind, 1);
      Pair pair(mode, &once);
      check_arrives_after(pair, once, 1s);
    }
  }
}

TEST_CASE("lost notice: the pauses grow, and two lost writes need no more rounds than one") {
  LosesFirst record(NoticeKind::record, 3);
  Pair slow(MemoryMode::copying, &record);
  check_arrives_after(slow, record, 7s);
  LosesFirst written(NoticeKind::written, 2);
  Pair both(MemoryMode::copying, &written);
  check_arrives_after(both, written, 1s);
}

TEST_CASE("lost notice: an answer ok is given again to a record that comes again, taken or not") {
  for (const bool taken : {true, false}) {
    LosesFirst once(NoticeKind::answer, 1);
    Pair pair(MemoryMode::copying, nullptr, 16, tiny_layout(), &once);
    const Landing landing = pair.decode.expect(1, kTokens);
    std::optional<Arrival> arrival;
    if (taken) {
      pair.background.spawn("wait", keep_arrival(pair, landing.id, kNever, arrival));
    }
    CHECK(hand_over(pair, landing, kNever).has_value());
    CHECK(pair.context.now().time_since_epoch() == 1s);
    CHECK(once.left() == 0);
    if (!taken) {
      arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
    }
    REQUIRE(arrival);
    CHECK(arrival->ok());
  }
}

TEST_CASE("lost notice: without an answer finish() ends at its deadline all the same") {
  LosesFirst every(NoticeKind::answer, 1000);
  Pair pair(MemoryMode::copying, nullptr, 16, tiny_layout(), &every);
  const Landing landing = pair.decode.expect(1, kTokens);
  CHECK(hand_over(pair, landing, pair.in(2500)).error() == Errc::timeout);
  CHECK(pair.context.now().time_since_epoch() == 2500ms);
  CHECK(run(pair.context, pair.decode.receiver.arrived(landing.id, kNever)).ok());
  CHECK(pair.decode.at_rest());
}

TEST_CASE("lost notice: an answer that the room has failed reaches a sender that says nothing more") {
  LosesFirst twice(NoticeKind::answer, 2);
  Pair pair(MemoryMode::copying, nullptr, 16, tiny_layout(), &twice);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    pair.decode.receiver.abandon(landing.id, client_left());
    pair.context.run_until(pair.in(2999));
    CHECK(!opened.outgoing->failure());
    pair.context.run_until(pair.in(1));  // 1 s and 2 s
    REQUIRE(opened.outgoing->failure());
    CHECK(opened.outgoing->failure()->message == "the client went away");
    CHECK(pair.decode.pool.quarantined() == kPages);  // the sender has not said its last word
  }
  pair.context.run();
  CHECK(pair.context.now().time_since_epoch() == 3s);
  CHECK(pair.decode.at_rest());
}

TEST_CASE("lost notice: a last word is asked for again") {
  LosesFirst twice(NoticeKind::closed, 2);
  Pair pair(MemoryMode::copying, &twice);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 2)).has_value());
    pair.decode.receiver.abandon(landing.id, client_left());
    pair.settle();
  }
  pair.context.run_until(pair.in(2999));  // the answer to the first question is lost too
  CHECK(pair.decode.pool.quarantined() == kPages);
  pair.context.run();
  CHECK(pair.context.now().time_since_epoch() == 3s);
  CHECK(pair.decode.at_rest());
}

TEST_CASE("lost notice: a refusal that was lost ends at the receiver's deadline, and leaves nothing") {
  LosesFirst once(NoticeKind::closed, 1);
  Pair pair(MemoryMode::copying, &once);
  const Landing landing = pair.decode.expect(1, kTokens);
  pair.prefill.sender.refuse(landing, Failure(Errc::too_large, "prefill/0", "no"));
  CHECK(run(pair.context, pair.decode.receiver.arrived(landing.id, pair.in(300))).failure->code == Errc::timeout);
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("lost notice: pages of a landing that never came return as soon as the room is given up") {
  Pair pair(MemoryMode::shared);
  const Landing landing = pair.decode.expect(1, kTokens);
  CHECK(run(pair.context, pair.decode.receiver.arrived(landing.id, pair.in(300))).failure->code == Errc::timeout);
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("lost notice: a landing that comes after its room was closed is never opened") {
  for (const MemoryMode mode : {MemoryMode::shared, MemoryMode::copying}) {
    Pair pair(mode);
    const Landing late = pair.decode.expect(1, kTokens);
    pair.decode.receiver.abandon(late.id, client_left());
    pair.settle();
    REQUIRE(pair.decode.at_rest());
    const Landing next = pair.decode.expect(2, kTokens);
    REQUIRE(next.pages == late.pages);
    const Opened opened = pair.prefill.sender.open(late);
    CHECK(opened.outgoing == nullptr);
    CHECK(opened.refusal.code == Errc::aborted);
    CHECK(opened.refusal.message == "the client went away");
    pair.prefill.sender.refuse(late, client_left());
    pair.settle();
    CHECK(hand_over(pair, next, kNever).has_value());
    const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(next.id, kNever));
    CHECK(arrival.ok());
  }
}

TEST_CASE("lost notice: only the room's own target is told that nothing can land") {
  Pair pair(MemoryMode::copying);
  const PeerId stranger{{Role::decode, 0}, InstanceId{8, 9}};
  auto endpoint = pair.hub.attach(pair.context, stranger, nullptr);
  const Landing landing = pair.decode.expect(1, kTokens);
  endpoint->post(prefill_peer(0), Notice(NoticeKind::answer, landing.id, stranger, client_left()));
  pair.settle();
  CHECK(hand_over(pair, landing, kNever).has_value());
}

TEST_CASE("lost notice: a quarantine asks for ever, ever more slowly, until its peer is gone") {
  LosesFirst every(NoticeKind::closed, 1000);
  Pair pair(MemoryMode::copying, &every);
  const Landing landing = pair.decode.expect(1, kTokens);
  pair.decode.receiver.abandon(landing.id, client_left());
  pair.context.run_until(pair.in(3'600'000));
  CHECK(1000 - every.left() == 1 + 5 + (3600 - 31) / 16);  // at once, at 1, 3, 7, 15 and 31 s, then every 16 s
  CHECK(pair.decode.pool.quarantined() == kPages);
  pair.decode.receiver.peer_gone(prefill_peer(0));
  CHECK(pair.decode.at_rest());
  pair.context.run();
  CHECK(pair.context.now().time_since_epoch() == 3600s);  // nobody is asked any more
}

}  // namespace
}  // namespace baton::test
