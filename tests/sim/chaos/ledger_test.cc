// The ledger blames what it is there to blame, and nothing else.
#include "sim/chaos/ledger.h"

#include <doctest/doctest.h>

#include "model/kv/kv_pool.h"
#include "sim/sim_clock.h"

using namespace baton;
using namespace baton::chaos;

namespace {

struct Bench {
  static KvLayout layout() { return {1, 1, 4, 4, KvType::f32}; }

  SimClock clock;
  Chronicle chronicle{clock, 0};
  Ledger ledger{chronicle};
  KvArena arena{layout(), 8};
  KvPool pool{layout(), 8, nullptr, true};
  PeerId decode{{Role::decode, 0}, {1, 1}};
  PeerId prefill{{Role::prefill, 0}, {2, 2}};

  Bench() { ledger.rank_up(decode, pool, arena); }

  // A landing of a prompt of 6 tokens in two pages.
  void land(RoomId room, const KvLease& lease) {
    ledger.landing_posted(
        Landing({decode.instance, room}, decode, prefill, 0, 0, 6, 0, {lease.pages().begin(), lease.pages().end()}, 1));
  }
  void write(RoomId room, PageId page, const PeerId& writer) { ledger.remote_write(writer, decode, room, page, true); }
  std::string blamed() const { return chronicle.violation() ? chronicle.violation()->rule : ""; }

  StepBatch step(const KvLease& lease, std::uint32_t position, const std::vector<TokenId>& tokens) {
    StepSequence sequence;
    sequence.tokens = tokens;
    sequence.position = position;
    sequence.arena = arena.base();
    sequence.pages = lease.pages();
    StepBatch batch;
    batch.sequences.push_back(sequence);
    return batch;
  }
};

}  // namespace

TEST_CASE("Ledger: the landing's source may write its pages, also after the room was abandoned") {
  Bench bench;
  KvLease lease = *bench.pool.acquire(2);
  const std::vector<PageId> pages(lease.pages().begin(), lease.pages().end());
  bench.land(RoomId{5}, lease);
  bench.write(RoomId{5}, pages[0], bench.prefill);
  const KvPin pin = lease.pin();
  lease.release();
  bench.write(RoomId{5}, pages[1], bench.prefill);
  CHECK(bench.blamed().empty());
}

TEST_CASE("Ledger: a write into a free page, into a page of another life, or by another writer is blamed") {
  for (const int way : {0, 1, 2, 3}) {
    CAPTURE(way);
    Bench bench;
    KvLease lease = *bench.pool.acquire(2);
    const PageId page = lease.pages()[0];
    bench.land(RoomId{5}, lease);
    KvLease next;
    if (way <= 1) {
      lease.release();
    }
    if (way == 1) {
      next = *bench.pool.acquire(2);
    }
    const PeerId other{bench.prefill.rank, {9, 9}};
    bench.write(RoomId{way == 2 ? 6U : 5U}, page, way == 3 ? other : bench.prefill);
    CHECK(bench.blamed() == "page");
  }
}

TEST_CASE("Ledger: a token shown before all pages have landed and been announced is blamed") {
  for (const int missing : {0, 1, 2}) {  // nothing, a page's landing, a page's announcement
    CAPTURE(missing);
    Bench bench;
    KvLease lease = *bench.pool.acquire(2);
    bench.land(RoomId{5}, lease);
    bench.write(RoomId{5}, lease.pages()[0], bench.prefill);
    if (missing != 1) {
      bench.write(RoomId{5}, lease.pages()[1], bench.prefill);
    }
    bench.ledger.write_announced(RoomId{5}, 0, missing == 2 ? 1 : 2);
    bench.ledger.first_token(RoomId{5});
    CHECK(bench.blamed() == std::string(missing == 0 ? "" : "early"));
  }
}

TEST_CASE("Ledger: a page read before all of it has landed is blamed") {
  for (const bool all : {false, true}) {
    CAPTURE(all);
    Bench bench;
    KvLease lease = *bench.pool.acquire(2);
    bench.land(RoomId{5}, lease);
    bench.write(RoomId{5}, lease.pages()[0], bench.prefill);
    if (all) {
      bench.write(RoomId{5}, lease.pages()[1], bench.prefill);
    }
    bench.ledger.step_begins(bench.decode.rank, bench.step(lease, 6, {1}));
    CHECK(bench.blamed() == std::string(all ? "" : "early"));
  }
}

TEST_CASE("Ledger: pages given back while a step uses them are blamed") {
  for (const bool kept : {false, true}) {
    CAPTURE(kept);
    Bench bench;
    KvLease lease = *bench.pool.acquire(2);
    const std::vector<TokenId> tokens{1, 2, 3};
    const Ledger::StepPages step = bench.ledger.step_begins(bench.decode.rank, bench.step(lease, 0, tokens));
    if (!kept) {
      lease.release();
    }
    bench.ledger.step_ends(bench.decode.rank, step);
    CHECK(bench.blamed() == (kept ? "" : "page"));
  }
}

TEST_CASE("Ledger: an engine that computes in a page of the prefix cache is blamed, one that reads it is not") {
  for (const bool behind : {false, true}) {
    CAPTURE(behind);
    Bench bench;
    KvLease lease = *bench.pool.acquire(2);
    bench.pool.keep(lease, std::vector<std::uint64_t>{1});
    const std::vector<TokenId> tokens{1, 2, 3};
    const StepBatch batch = bench.step(lease, behind ? 4 : 1, tokens);
    bench.ledger.step_ends(bench.decode.rank, bench.ledger.step_begins(bench.decode.rank, batch));
    CHECK(bench.blamed() == (behind ? "" : "page"));
  }
}

TEST_CASE("Ledger: an engine that computes in pages whose landing names another writer is blamed") {
  for (const bool own : {false, true}) {
    CAPTURE(own);
    Bench bench;
    KvLease lease = *bench.pool.acquire(2);
    bench.land(RoomId{5}, lease);
    const RankId engine = own ? bench.prefill.rank : RankId{Role::prefill, 1};
    const std::vector<TokenId> tokens{1, 2, 3};
    bench.ledger.step_ends(engine, bench.ledger.step_begins(engine, bench.step(lease, 0, tokens)));
    CHECK(bench.blamed() == (own ? "" : "page"));
  }
}
