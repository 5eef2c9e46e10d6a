// One hand-over at a time, with both sides in one process and nothing going wrong by itself.
#include <doctest/doctest.h>

#include "tests/support/run.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

constexpr std::uint32_t kTokens = 18;  // five pages, the last one not full

// Pushes all five pages in two chunks, then the record.
Task<Result<>> send_all(Pair& pair, Landing landing) {
  Opened opened = pair.prefill.sender.open(landing);
  if (!opened) {
    co_return opened.refusal.code;
  }
  const Result<> first = co_await pair.compute_and_push(*opened.outgoing, 0, 3);
  if (!first) {
    co_return first;
  }
  const Result<> second = co_await pair.compute_and_push(*opened.outgoing, 3, 2);
  if (!second) {
    co_return second;
  }
  const Result<> finished = co_await opened.outgoing->finish(record_of(kTokens, 42), pair.in(1000));
  co_return finished;
}

Task<> keep_result(Task<Result<>> task, std::optional<Result<>>& into) {
  into = co_await std::move(task);
}

TEST_CASE("hand-over: pages and record arrive, and both sides know it") {
  for (const MemoryMode mode : {MemoryMode::shared, MemoryMode::copying}) {
    Pair pair(mode);
    const Landing landing = pair.decode.expect(1, kTokens);
    CHECK(pair.decode.receiver.open_transfers() == 1);
    std::optional<Result<>> sent;
    pair.background.spawn("send", keep_result(send_all(pair, landing), sent));
    Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
    REQUIRE(arrival.ok());
    CHECK(std::ranges::equal(arrival.lease.pages(), landing.pages));
    CHECK(holds_prompt(pair.decode.arena, arrival.lease, RoomId{1}));
    CHECK(arrival.record.first.id == 42);
    CHECK(arrival.record.prompt_tokens == kTokens);
    CHECK(arrival.record.pages_total == 5);
    pair.settle();
    REQUIRE(sent);
    CHECK(sent->has_value());
    CHECK(pair.decode.receiver.open_transfers() == 0);
    CHECK(pair.prefill.sender.open_transfers() == 0);
    CHECK(pair.decode.receiver.late_notices() == 0);
    arrival.lease.release();
    CHECK(pair.decode.at_rest());
    CHECK(pair.hub.lost_notices() == 0);
  }
}

TEST_CASE("hand-over: in shared memory the engine computes in the target's pages, apart they stay untouched") {
  Pair shared(MemoryMode::shared);
  Landing landing = shared.decode.expect(1, kTokens);
  {
    const Opened opened = shared.prefill.sender.open(landing);
    REQUIRE(opened.outgoing != nullptr);
    CHECK(opened.outgoing->direct_arena() == shared.decode.arena.base());
    shared.decode.receiver.abandon(landing.id, Failure());
  }
  shared.settle();
  Pair apart(MemoryMode::copying);
  landing = apart.decode.expect(1, kTokens);
  const Opened opened = apart.prefill.sender.open(landing);
  REQUIRE(opened.outgoing != nullptr);
  CHECK(opened.outgoing->direct_arena() == nullptr);
  CHECK(apart.decode.arena.poisoned(landing.pages[0]));
  apart.decode.receiver.abandon(landing.id, Failure());
}

TEST_CASE("hand-over: a copy of many pages lets others run in between") {
  KvLayout layout = tiny_layout();
  layout.head_dim = 1U << 15;  // pages of 1 MiB
  Pair pair(MemoryMode::copying, nullptr, 6, layout);
  const Landing landing = pair.decode.expect(1, kTokens);
  std::optional<Result<>> sent;
  pair.background.spawn("send", keep_result(send_all(pair, landing), sent));
  std::size_t turns = 0;
  while (!pair.decode.receiver.late_notices() && !sent && pair.context.step()) {
    ++turns;
  }
  CHECK(turns > 10);
  Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  REQUIRE(arrival.ok());
  CHECK(holds_prompt(pair.decode.arena, arrival.lease, RoomId{1}));
}

TEST_CASE("hand-over: what does not fit is refused before a byte moves, and the receiver is told why") {
  Pair pair(MemoryMode::shared);
  Landing landing = pair.decode.expect(1, kTokens);
  Errc expected = Errc::invalid_argument;
  SUBCASE("another layout") {
    landing.layout_fingerprint ^= 1;
  }
  SUBCASE("another model") {
    landing.model_hash ^= 1;
  }
  SUBCASE("too few pages") {
    landing.pages.pop_back();
  }
  SUBCASE("a page outside of the arena") {
    landing.pages[2] = 16;
  }
  SUBCASE("a position inside of a page") {
    landing.first_position = 1;
  }
  SUBCASE("no position left") {
    landing.first_position = 20;
  }
  SUBCASE("pages before that nobody wants") {
    landing.found_pages = {1};
  }
  SUBCASE("another key") {
    landing.memory_key += 1;
    expected = Errc::peer_lost;
  }
  const Opened opened = pair.prefill.sender.open(landing);
  CHECK(!opened);
  CHECK(opened.refusal.code == expected);
  CHECK(opened.refusal.origin == "prefill/0");
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  REQUIRE(arrival.failure);
  CHECK(arrival.failure->code == expected);
  CHECK(arrival.failure->message == opened.refusal.message);
  CHECK(pair.decode.at_rest());
}

TEST_CASE("hand-over: a landing of an unknown rank or another life is refused") {
  Pair pair(MemoryMode::shared);
  const Landing landing = pair.decode.expect(1, kTokens);
  Landing other = landing;
  other.target.rank.index = 9;
  CHECK(pair.prefill.sender.open(other).refusal.code == Errc::peer_lost);
  other = landing;
  other.id.room.value = 2;
  other.source.instance.low = 9;
  CHECK(pair.prefill.sender.open(other).refusal.code == Errc::peer_lost);
  pair.decode.receiver.abandon(landing.id, Failure());
  CHECK(pair.decode.receiver.quarantined() == 1);
  pair.decode.receiver.peer_gone(prefill_peer(0));
  CHECK(pair.decode.at_rest());
}

TEST_CASE("hand-over: a refusal by the role ends the wait at once") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  pair.prefill.sender.refuse(landing, Failure(Errc::too_large, "prefill/0", "18 tokens, limit 10"));
  pair.prefill.sender.refuse(landing, Failure(Errc::internal, "prefill/0", "again"));
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  CHECK(arrival.failure->code == Errc::too_large);
  CHECK(arrival.failure->message == "18 tokens, limit 10");
  CHECK(pair.decode.at_rest());
  CHECK(!pair.prefill.sender.open(landing));
  pair.settle();
  CHECK(pair.decode.receiver.late_notices() == 0);
}

TEST_CASE("hand-over: opening a second time is refused and harms nobody") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    REQUIRE(opened.outgoing != nullptr);
    CHECK(!pair.prefill.sender.open(landing));
    pair.prefill.sender.refuse(landing, Failure());
    pair.settle();
    CHECK(!pair.decode.at_rest());  // the first one still speaks for the room
    CHECK(pair.decode.receiver.open_transfers() == 1);
  }
  CHECK(!pair.prefill.sender.open(landing));
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  CHECK(arrival.failure->code == Errc::aborted);
  CHECK(pair.decode.at_rest());
}

TEST_CASE("hand-over: what the sender gives as cause arrives before its last word, pages return after it") {
  Pair pair(MemoryMode::shared);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    REQUIRE(opened.outgoing != nullptr);
    opened.outgoing->fail(Failure(Errc::internal, "prefill/0", "the engine failed"));
    opened.outgoing->fail(Failure(Errc::aborted, "prefill/0", "second"));
    const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
    CHECK(arrival.failure->message == "the engine failed");
    CHECK(pair.decode.pool.quarantined() == 5);
    const Result<> pushed = run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 1));
    CHECK(pushed.error() == Errc::internal);
    CHECK(pair.decode.pool.quarantined() == 5);
  }
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("hand-over: a push outside of the landing fails the room") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    REQUIRE(opened.outgoing != nullptr);
    const Result<> pushed = run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 0));
    CHECK(pushed.has_value());
    const std::vector<PageId> source{0, 1};
    CHECK(run(pair.context, opened.outgoing->push(4, source, pair.prefill.arena.base())).error() ==
          Errc::invalid_argument);
  }
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  CHECK(arrival.failure->code == Errc::invalid_argument);
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("hand-over: a record without all pages is no success") {
  Pair pair(MemoryMode::copying);
  const Landing landing = pair.decode.expect(1, kTokens);
  {
    const Opened opened = pair.prefill.sender.open(landing);
    REQUIRE(opened.outgoing != nullptr);
    CHECK(run(pair.context, pair.compute_and_push(*opened.outgoing, 0, 4)).has_value());
    CHECK(run(pair.context, opened.outgoing->finish(record_of(kTokens, 1), pair.in(1000))).error() == Errc::corrupt);
    CHECK(opened.outgoing->failure()->origin == "decode/0");
  }
  const Arrival arrival = run(pair.context, pair.decode.receiver.arrived(landing.id, kNever));
  CHECK(arrival.failure->code == Errc::corrupt);
  pair.settle();
  CHECK(pair.decode.at_rest());
}

TEST_CASE("hand-over: an expectation that does not fit its pages, or a room used twice, gives the pages back") {
  Pair pair(MemoryMode::copying);
  const auto expect = [&](std::uint32_t pages, std::uint32_t tokens, std::uint32_t first) {
    auto lease = pair.decode.pool.acquire(pages);
    return pair.decode.receiver.expect(Expectation(RoomId{1}, prefill_peer(0), std::move(*lease), tokens, first));
  };
  CHECK(expect(4, 17, 0).error() == Errc::invalid_argument);
  CHECK(expect(6, 17, 0).error() == Errc::invalid_argument);
  CHECK(expect(4, 17, 2).error() == Errc::invalid_argument);
  CHECK(expect(0, 16, 16).error() == Errc::invalid_argument);
  CHECK(expect(0, 0, 0).error() == Errc::invalid_argument);
  CHECK(pair.decode.pool.drained());
  CHECK(expect(2, 17, 12).error() == Errc::invalid_argument);
  const auto landing = expect(5, 17, 12);
  REQUIRE(landing.has_value());
  CHECK(landing->pages.size() == 2);
  CHECK(landing->found_pages.size() == 3);
  CHECK(expect(5, 17, 0).error() == Errc::invalid_argument);
  CHECK(pair.decode.pool.leased() == 5);
  const Opened opened = pair.prefill.sender.open(*landing);
  CHECK(opened.outgoing != nullptr);
  pair.decode.receiver.abandon(landing->id, Failure());
}

}  // namespace
}  // namespace baton::test
