// A peer that is shut out: nothing of it lands any more, whoever waits for what. In virtual time and between threads.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

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

// A writer on a thread of its own that stops only when it is shut out. Each write has other bytes than the last.
class RestlessWriter {
 public:
  RestlessWriter()
      : hub_(MemoryMode::copying),
        prefill_(prefill_context_, hub_, 0, nullptr, wide_layout(), 1),
        decode_(decode_context_, hub_, 0, nullptr, wide_layout(), 1),
        scope_(prefill_context_, "writer") {
    scope_.spawn("writes", keep_writing());
    thread_ = std::thread([this] {
      prefill_context_.stop();  // returns when the writer has ended
      prefill_context_.run();
    });
  }

  void wait_until_busy() const {
    while (writes_.load(std::memory_order_relaxed) < 3) {
      std::this_thread::yield();
    }
  }
  Errc join() {
    thread_.join();
    scope_.rethrow_error();
    return end_;
  }
  DecodeSide& decode() noexcept { return decode_; }

 private:
  Task<> keep_writing() {
    Result<> written;
    for (unsigned char value = 1; written; ++value) {
      std::memset(prefill_.arena.base(), value, prefill_.arena.bytes());
      KvWrite write(decode_peer(0), decode_.endpoint->memory_key(), wide_layout().page_bytes(), prefill_.arena.base(),
                    {{0, 0, 1}}, std::nullopt);
      written = co_await prefill_.endpoint->write(std::move(write));
      writes_.fetch_add(1, std::memory_order_relaxed);
    }
    end_ = static_cast<Errc>(written.error().value());
  }

  RealContext prefill_context_;
  RealContext decode_context_;
  InMemoryHub hub_;
  PrefillSide prefill_;
  DecodeSide decode_;
  Scope scope_;
  std::atomic<int> writes_{0};
  Errc end_{};
  std::thread thread_;
};

TEST_CASE("fence: shuts out a writer on another thread, and waits for what it copies just then") {
  for (int round = 0; round < 8; ++round) {
    RestlessWriter writer;
    KvArena& arena = writer.decode().arena;
    std::vector<std::byte> seen(arena.bytes());
    writer.wait_until_busy();
    writer.decode().endpoint->fence(prefill_peer(0));
    // From the end, since a copy goes forward: what it still had to write would be read before it comes.
    std::reverse_copy(arena.base(), arena.base() + arena.bytes(), seen.begin());
    CHECK(writer.join() == Errc::peer_lost);
    CHECK(std::equal(seen.rbegin(), seen.rend(), arena.base()));
  }
}

}  // namespace
}  // namespace baton::test
