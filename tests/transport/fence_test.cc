// A peer that is shut out: nothing of it lands any more, whoever waits for what. In virtual time and between threads.
#include <atomic>
#include <cstring>
#include <thread>

#include <doctest/doctest.h>

#include "runtime/real_context.h"
#include "tests/support/run.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::uint32_t kTokens = 18;
constexpr std::uint32_t kPages = 5;

// Pages of 1 MiB: each is a slice of its own, between which others have their turn.
KvLayout wide_layout() {
  KvLayout layout = tiny_layout();
  layout.head_dim = 32768;
  return layout;
}

Task<> keep_push(Pair& pair, Outgoing& outgoing, std::uint32_t first, std::uint32_t pages,
                 std::optional<Result<>>& into) {
  into = co_await pair.compute_and_push(outgoing, first, pages);
}

void check_all_poisoned(const Pair& pair) {
  for (PageId page = 0; page < pair.decode.arena.pages(); ++page) {
    CHECK(pair.decode.arena.poisoned(page));
  }
}

TEST_CASE("fence: a delayed write of a peer that is gone never lands, and its pages return at once") {
  ScriptedFaults slow({{0, Fault{FaultKind::delay, 50ms}}});
  Pair pair(MemoryMode::copying, &slow, kPages);
  const Landing landing = pair.decode.expect(1, kTokens);
  std::optional<Result<>> pushed;
  const Opened opened = pair.prefill.sender.open(landing);
  pair.background.spawn("push", keep_push(pair, *opened.outgoing, 0, kPages, pushed));
  pair.context.run_until(pair.in(10));
  pair.decode.receiver.peer_gone(prefill_peer(0));
  CHECK(run(pair.context, pair.decode.receiver.arrived(landing.id, kNever)).failure->code == Errc::peer_lost);
  CHECK(pair.decode.at_rest());
  pair.context.run_until(pair.in(100));
  REQUIRE(pushed);
  CHECK(pushed->error() == Errc::peer_lost);
  check_all_poisoned(pair);
}

TEST_CASE("fence: the rest of a write that is under way never lands") {
  Pair pair(MemoryMode::copying, nullptr, kPages, wide_layout());
  REQUIRE(wide_layout().page_bytes() == std::size_t{1} << 20);
  const Landing landing = pair.decode.expect(1, kTokens);
  std::optional<Result<>> pushed;
  const Opened opened = pair.prefill.sender.open(landing);
  pair.background.spawn("push", keep_push(pair, *opened.outgoing, 0, kPages, pushed));
  while (pair.decode.arena.poisoned(landing.pages[1])) {
    REQUIRE(pair.context.step());
  }
  REQUIRE(pair.decode.arena.poisoned(landing.pages[4]));
  REQUIRE(!pushed);
  pair.decode.receiver.peer_gone(prefill_peer(0));
  check_all_poisoned(pair);
  pair.settle();
  REQUIRE(pushed);
  CHECK(pushed->error() == Errc::peer_lost);
  check_all_poisoned(pair);
}

TEST_CASE("fence: concerns one peer and one rank, and is harmless twice or for a stranger") {
  SimContext context;
  InMemoryHub hub(MemoryMode::copying);
  PrefillSide fenced(context, hub, 0, nullptr, tiny_layout(), 1);
  PrefillSide other(context, hub, 1, nullptr, tiny_layout(), 1);
  DecodeSide target(context, hub, 0, nullptr, tiny_layout(), 2);
  DecodeSide elsewhere(context, hub, 1, nullptr, tiny_layout(), 2);
  target.endpoint->fence(prefill_peer(0));
  target.endpoint->fence(prefill_peer(0));
  target.endpoint->fence(prefill_peer(7));
  const auto writes = [&](PrefillSide& from, DecodeSide& to) {
    KvWrite write(to.endpoint->self(), to.endpoint->memory_key(), tiny_layout().page_bytes(), from.arena.base(),
                  {{0, 0, 1}}, std::nullopt);
    return run(context, from.endpoint->write(std::move(write)));
  };
  CHECK(writes(fenced, target).error() == Errc::peer_lost);
  CHECK(writes(other, target).has_value());
  CHECK(writes(fenced, elsewhere).has_value());
}

TEST_CASE("fence: a write to a rank that has ended meanwhile touches its arena no more") {
  SimContext context;
  InMemoryHub hub(MemoryMode::copying);
  PrefillSide source(context, hub, 0, nullptr, wide_layout(), 3);
  auto target = std::make_unique<DecodeSide>(context, hub, 0, nullptr, wide_layout(), 3);
  Scope scope(context, "write");
  std::optional<Result<>> written;
  const auto keep = [](Endpoint& from, KvWrite write, std::optional<Result<>>& into) -> Task<> {
    into = co_await from.write(std::move(write));
  };
  KvWrite write(target->endpoint->self(), target->endpoint->memory_key(), wide_layout().page_bytes(),
                source.arena.base(), {{0, 0, 3}}, std::nullopt);
  scope.spawn("write", keep(*source.endpoint, std::move(write), written));
  while (target->arena.poisoned(0)) {
    REQUIRE(context.step());
  }
  REQUIRE(!written);
  target.reset();
  context.run();
  REQUIRE(written);
  CHECK(written->error() == Errc::peer_lost);
}

// The writer never stops by itself; after the fence the reader owns the bytes alone, which TSan checks too.
TEST_CASE("fence: shuts out a writer on another thread, between two slices") {
  RealContext prefill_context;
  RealContext decode_context;
  InMemoryHub hub(MemoryMode::copying);
  PrefillSide prefill(prefill_context, hub, 0, nullptr, tiny_layout(), 4);
  DecodeSide decode(decode_context, hub, 0, nullptr, tiny_layout(), 4);
  std::atomic<int> writes{0};
  std::optional<Errc> end;
  const auto keep_writing = [](PrefillSide& from, DecodeSide& to, std::atomic<int>& count,
                               std::optional<Errc>& into) -> Task<> {
    for (;;) {
      KvWrite write(decode_peer(0), to.endpoint->memory_key(), tiny_layout().page_bytes(), from.arena.base(),
                    {{0, 0, 4}}, std::nullopt);
      const Result<> written = co_await from.endpoint->write(std::move(write));
      if (!written) {
        into = static_cast<Errc>(written.error().value());
        co_return;
      }
      count.fetch_add(1, std::memory_order_relaxed);
    }
  };
  Scope scope(prefill_context, "writer");
  scope.spawn("writes", keep_writing(prefill, decode, writes, end));
  std::thread writer([&] {
    prefill_context.stop();
    prefill_context.run();
  });
  while (writes.load(std::memory_order_relaxed) < 100) {
    std::this_thread::yield();
  }
  decode.endpoint->fence(prefill_peer(0));
  std::memset(decode.arena.base(), 0x55, decode.arena.bytes());
  std::size_t other = 0;
  for (int look = 0; look < 100; ++look) {
    other += static_cast<std::size_t>(std::count_if(decode.arena.base(), decode.arena.base() + decode.arena.bytes(),
                                                    [](std::byte byte) { return byte != std::byte{0x55}; }));
  }
  CHECK(other == 0);
  writer.join();
  scope.rethrow_error();
  CHECK(end == Errc::peer_lost);
}

}  // namespace
}  // namespace baton::test
