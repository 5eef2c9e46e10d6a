// Two ranks on two real threads, as a node runs them: what virtual time cannot show is checked here, under TSan too.
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/mailbox.h"
#include "runtime/real_context.h"
#include "runtime/scope.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

constexpr std::uint32_t kWorkers = 6;
constexpr std::uint32_t kRoomsPerWorker = 40;
constexpr std::uint32_t kTokens = 18;
constexpr std::uint32_t kPages = 5;

class TwoThreads {
 public:
  explicit TwoThreads(MemoryMode mode)
      : hub_(mode),
        prefill_(prefill_context_, hub_, 0, nullptr, tiny_layout(), kWorkers * kPages),
        decode_(decode_context_, hub_, 0, nullptr, tiny_layout(), (kWorkers - 2) * kPages),
        landings_(prefill_context_, "landings"),
        prefill_scope_(prefill_context_, "prefill"),
        decode_scope_(decode_context_, "decode"),
        pages_back_(decode_context_, "pages back") {}

  void run() {
    prefill_scope_.spawn("main", prefill_main());
    decode_scope_.spawn("main", decode_main());
    std::thread other([this] { work(prefill_context_); });
    work(decode_context_);
    other.join();
    prefill_scope_.rethrow_error();
    decode_scope_.rethrow_error();
  }

  std::uint32_t right = 0;
  std::uint32_t abandoned = 0;
  std::uint32_t wrong = 0;
  bool at_rest() const {
    return decode_.at_rest() && prefill_.sender.open_transfers() == 0 && hub_.lost_notices() == 0;
  }

 private:
  static void work(RealContext& context) {
    context.stop();  // returns when all coroutines have ended
    context.run();
  }

  Task<> decode_main() {
    decode_.pool.on_pages_back([this] { pages_back_.notify(); });
    const TaskHandle serve = decode_scope_.spawn("serve", decode_.receiver.serve());
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      decode_scope_.spawn(fmt::format("worker {}", worker), decode_worker(worker));
    }
    while (workers_done_ < kWorkers || !decode_.pool.drained()) {
      co_await pages_back_.wait();
    }
    landings_.push(Landing());  // the end
    decode_scope_.cancel();
  }

  Task<> decode_worker(std::uint32_t worker) {
    for (std::uint32_t i = 0; i < kRoomsPerWorker; ++i) {
      const RoomId room{worker * kRoomsPerWorker + i + 1};
      auto lease = decode_.pool.acquire(kPages);
      while (!lease) {
        co_await yield(decode_context_);
        lease = decode_.pool.acquire(kPages);
      }
      Expectation expectation(room, prefill_peer(0), std::move(*lease), kTokens);
      auto landing = decode_.receiver.expect(std::move(expectation));
      const TransferId id = landing->id;
      landings_.push(std::move(*landing));
      if (i % 5 == 4) {
        for (std::uint32_t turn = 0; turn < i; ++turn) {
          co_await yield(decode_context_);
        }
        decode_.receiver.abandon(id, Failure(Errc::aborted, "test", "abandoned"));
        ++abandoned;
        continue;
      }
      const Arrival arrival = co_await decode_.receiver.arrived(id, kNever);
      const bool good = arrival.ok() && holds_prompt(decode_.arena, arrival.lease, room) &&
                        arrival.record.first.id == static_cast<TokenId>(room.value);
      ++(good ? right : wrong);
    }
    ++workers_done_;
    pages_back_.notify();
  }

  Task<> prefill_main() {
    const TaskHandle serve = prefill_scope_.spawn("serve", prefill_.sender.serve());
    while (auto landing = co_await landings_.recv()) {
      if (landing->pages.empty()) {
        break;
      }
      prefill_scope_.spawn("room", prefill_room(std::move(*landing)));
    }
    prefill_scope_.cancel();
  }

  Task<> prefill_room(Landing landing) {
    const Opened opened = prefill_.sender.open(landing);
    if (!opened) {
      co_return;  // abandoned before the landing came
    }
    Outgoing& outgoing = *opened.outgoing;
    for (std::uint32_t page = 0; page < kPages && !outgoing.failure(); ++page) {
      // Every room has other source pages than those that may be under way with it.
      const std::vector<PageId> source{
          static_cast<PageId>((landing.id.room.value - 1) / kRoomsPerWorker * kPages + page)};
      const std::size_t page_bytes = tiny_layout().page_bytes();
      std::byte* direct = outgoing.direct_arena();
      fill_page(direct != nullptr ? std::span(direct + landing.pages[page] * page_bytes, page_bytes)
                                  : prefill_.arena.page(source[0]),
                landing.id.room, page);
      co_await outgoing.push(page, source, prefill_.arena.base());
      co_await yield(prefill_context_);
    }
    if (!outgoing.failure()) {
      SideRecord record = record_of(kTokens, static_cast<TokenId>(landing.id.room.value));
      co_await outgoing.finish(std::move(record), kNever);
    }
  }

  RealContext prefill_context_;
  RealContext decode_context_;
  InMemoryHub hub_;
  PrefillSide prefill_;
  DecodeSide decode_;
  Mailbox<Landing> landings_;
  Scope prefill_scope_;
  Scope decode_scope_;
  Pulse pages_back_;
  std::uint32_t workers_done_ = 0;
};

TEST_CASE("hand-over: between two threads, with and without a copy") {
  for (const MemoryMode mode : {MemoryMode::shared, MemoryMode::copying}) {
    TwoThreads world(mode);
    world.run();
    CHECK(world.wrong == 0);
    CHECK(world.abandoned == kWorkers * kRoomsPerWorker / 5);
    CHECK(world.right == kWorkers * kRoomsPerWorker - world.abandoned);
    CHECK(world.at_rest());
  }
}

}  // namespace
}  // namespace baton::test
