#include "transport/transfer_book.h"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "model/kv/kv_pool.h"
#include "tests/support/pick.h"
#include "transport/wire.h"

namespace baton {
namespace {

const PeerId kDecode{{Role::decode, 0}, {1, 1}};
const PeerId kPrefill{{Role::prefill, 0}, {1, 1}};
const PeerId kOther{{Role::prefill, 1}, {1, 1}};

KvLayout tiny_layout() {
  KvLayout layout;
  layout.layers = 1;
  layout.kv_heads = 1;
  layout.head_dim = 8;
  layout.page_tokens = 4;
  return layout;
}

TransferId id_of(std::uint64_t room) {
  return {kDecode.instance, {room}};
}

struct Bench {
  KvPool pool;
  TransferBook book{kDecode, 8};

  explicit Bench(std::uint32_t pages) : pool(tiny_layout(), pages) {}

  void open(std::uint64_t room, std::uint32_t pages, PeerId source = kPrefill) {
    auto lease = pool.acquire(pages);
    REQUIRE(lease);
    Expectation expectation(RoomId{room}, source, std::move(*lease), pages * 4);
    REQUIRE(book.open(expectation, expectation.lease.size()));
  }
  bool written(std::uint64_t room, std::uint32_t sequence, std::uint32_t page, std::uint32_t pages = 1,
               PeerId from = kPrefill) {
    return book.apply(Notice::written(id_of(room), from, sequence, page, pages));
  }
  bool record(std::uint64_t room, std::uint32_t pages, std::uint32_t writes, TokenId token = 7) {
    return record_as(id_of(room), id_of(room), pages, writes, token);
  }
  bool record_as(TransferId notice_id, TransferId echoed, std::uint32_t pages, std::uint32_t writes, TokenId token) {
    SideRecord side(pages * 4, SampledToken(token, 0, {}), 0, PrefillTimes{});
    side.id = echoed;
    side.pages_total = pages;
    side.writes_total = writes;
    return book.apply(Notice::record(notice_id, kPrefill, encode(side)));
  }
  bool ended(std::uint64_t room, NoticeKind kind, std::optional<Failure> cause = std::nullopt) {
    return book.apply(Notice(kind, id_of(room), kPrefill, std::move(cause)));
  }
};

TEST_CASE("TransferBook: a counted room gives its lease and its record, and an answer to the sender") {
  Bench bench(4);
  bench.open(1, 2);
  CHECK(!bench.written(1, 0, 0));
  CHECK(!bench.record(1, 2, 2));
  CHECK(bench.book.take_answers().empty());
  CHECK(bench.written(1, 1, 1));
  REQUIRE(bench.book.has_verdict(id_of(1)));
  const auto answers = bench.book.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].first == kPrefill);
  CHECK(answers[0].second.kind == NoticeKind::answer);
  CHECK(!answers[0].second.failure);
  Arrival arrival = bench.book.take(id_of(1));
  CHECK(arrival.ok());
  CHECK(arrival.lease.size() == 2);
  CHECK(arrival.record.first.id == 7);
  CHECK(bench.book.open_transfers() == 0);
  CHECK(bench.book.quarantined() == 0);
  CHECK(!bench.book.known(id_of(1)));
}

TEST_CASE("TransferBook: a record that comes again gets the verdict again, as long as the room is remembered") {
  Bench bench(2);
  bench.open(1, 1);
  bench.open(2, 1);
  bench.record(1, 1, 1);
  CHECK(bench.written(1, 0, 0));
  bench.ended(2, NoticeKind::closed, Failure(Errc::too_large, "prefill/0", "refused"));
  bench.book.take_answers();
  for (const bool taken : {false, true}) {
    for (std::uint64_t room = 1; room <= 3; ++room) {
      CHECK(!bench.record(room, 1, 1));
      CHECK(!bench.written(room, 0, 0));  // not answered: the record follows
      const auto answers = bench.book.take_answers();
      REQUIRE(answers.size() == (room == 3 ? 0 : 1));
      CHECK((room == 3 || answers[0].second.failure.has_value() == (room == 2)));
    }
    if (!taken) {
      CHECK(bench.book.take(id_of(1)).ok());
      CHECK(bench.book.take(id_of(2)).failure->message == "refused");
    }
  }
}

TEST_CASE("TransferBook: a room in quarantine can be answered again, no other") {
  Bench bench(2);
  bench.open(1, 1);
  bench.open(2, 1);
  bench.book.abandon(id_of(1), Failure(Errc::aborted, "decode/0", "left"));
  bench.book.take_answers();
  for (std::uint64_t room = 1; room <= 3; ++room) {
    bench.book.answer_again(id_of(room));
  }
  const auto answers = bench.book.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].second.id == id_of(1));
  CHECK(answers[0].second.failure->message == "left");
  CHECK(bench.book.in_quarantine(id_of(1)));
  bench.book.take(id_of(1));
  bench.ended(1, NoticeKind::closed);
  bench.book.answer_again(id_of(1));
  CHECK(bench.book.take_answers().empty());
  bench.book.abandon(id_of(2), Failure(Errc::aborted, "decode/0", "left"));
  bench.book.take(id_of(2));
  bench.ended(2, NoticeKind::closed);
}

// handover.md 17.12 T5, #37697.
TEST_CASE("TransferBook: three chunks in any order, with duplicates, conclude exactly once") {
  std::vector<int> order{0, 1, 2, 3};
  do {
    for (int again = 0; again < 4; ++again) {
      Bench bench(3);
      bench.open(1, 3);
      int verdicts = 0;
      for (const int event : order) {
        for (int times = 0; times < (event == again ? 2 : 1); ++times) {
          const bool concluded =
              event == 3 ? bench.record(1, 3, 3)
                         : bench.written(1, static_cast<std::uint32_t>(event), static_cast<std::uint32_t>(event));
          verdicts += concluded ? 1 : 0;
        }
      }
      CHECK(verdicts == 1);
      CHECK(bench.book.take(id_of(1)).ok());
    }
  } while (std::ranges::next_permutation(order).found);
}

// handover.md 17.12 T1, #24527.
TEST_CASE("TransferBook: an abandoned room's pages return only with the sender's last word") {
  Bench bench(1);
  bench.open(1, 1);
  CHECK(bench.book.abandon(id_of(1), Failure(Errc::aborted, "decode/0", "client went away")));
  const auto answers = bench.book.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].second.failure->code == Errc::aborted);
  CHECK(bench.pool.quarantined() == 1);
  CHECK(!bench.pool.acquire(1));
  const Arrival arrival = bench.book.take(id_of(1));
  CHECK(arrival.failure->message == "client went away");
  CHECK(bench.pool.quarantined() == 1);
  CHECK(!bench.written(1, 0, 0));
  CHECK(!bench.record(1, 1, 1));
  CHECK(bench.book.take_answers().size() == 2);  // told again, because the sender has not understood
  CHECK(bench.pool.quarantined() == 1);
  CHECK(!bench.ended(1, NoticeKind::failed));
  CHECK(bench.pool.quarantined() == 1);
  CHECK(!bench.ended(1, NoticeKind::closed));
  CHECK(bench.pool.drained());
  CHECK(bench.book.quarantined() == 0);
  bench.open(2, 1);
  CHECK(!bench.written(1, 1, 0));  // late again, and nobody's business
  CHECK(!bench.book.has_verdict(id_of(2)));
  CHECK(bench.book.abandon(id_of(2), Failure()));
  CHECK(!bench.ended(2, NoticeKind::closed));
  bench.book.take(id_of(2));
}

// handover.md 17.12 T2, #17259, and T3, #27374.
TEST_CASE("TransferBook: a late record of one room never concludes another in the same pages") {
  Bench bench(1);
  bench.open(1, 1);
  CHECK(bench.written(1, 0, 0) == false);
  CHECK(bench.book.abandon(id_of(1), Failure(Errc::aborted, "decode/0", "client went away")));
  bench.book.take(id_of(1));
  bench.ended(1, NoticeKind::closed);
  bench.open(2, 1);
  CHECK(!bench.written(2, 0, 0));
  CHECK(!bench.record(1, 1, 1, 111));                      // meets room 1's tombstone
  CHECK(!bench.record_as(id_of(2), id_of(1), 1, 1, 111));  // even in room 2's envelope
  CHECK(!bench.book.has_verdict(id_of(2)));                // it waits and does not fail
  CHECK(bench.book.late_notices() == 2);
  CHECK(bench.record(2, 1, 1, 222));
  Arrival arrival = bench.book.take(id_of(2));
  CHECK(arrival.record.first.id == 222);
}

TEST_CASE("TransferBook: the first cause stays") {
  Bench bench(1);
  bench.open(1, 1);
  CHECK(bench.ended(1, NoticeKind::failed, Failure(Errc::transfer_failed, "prefill/0", "first")));
  CHECK(!bench.book.abandon(id_of(1), Failure(Errc::timeout, "decode/0", "second")));
  CHECK(!bench.ended(1, NoticeKind::closed, Failure(Errc::peer_lost, "prefill/0", "third")));
  const Arrival arrival = bench.book.take(id_of(1));
  CHECK(arrival.failure->message == "first");
  CHECK(arrival.failure->origin == "prefill/0");
  CHECK(bench.pool.drained());
}

TEST_CASE("TransferBook: a refusal concludes the room and frees its pages at once") {
  Bench bench(2);
  bench.open(1, 2);
  CHECK(bench.ended(1, NoticeKind::closed, Failure(Errc::too_large, "prefill/0", "prompt too long")));
  CHECK(bench.pool.drained());
  CHECK(bench.book.take(id_of(1)).failure->code == Errc::too_large);
}

TEST_CASE("TransferBook: a sender that closes too early without a cause is a failure") {
  Bench bench(2);
  bench.open(1, 2);
  bench.written(1, 0, 0, 2);
  CHECK(bench.ended(1, NoticeKind::closed));
  CHECK(bench.book.take(id_of(1)).failure->code == Errc::aborted);
}

TEST_CASE("TransferBook: corrupt counting fails the room, tells the sender, and keeps the pages until it closes") {
  Bench bench(2);
  bench.open(1, 2);
  CHECK(bench.written(1, 0, 1, 2));
  CHECK(bench.book.take_answers().at(0).second.failure->code == Errc::corrupt);
  CHECK(bench.pool.quarantined() == 2);
  CHECK(bench.book.take(id_of(1)).failure->code == Errc::corrupt);
  bench.open(2, 0);
  CHECK(bench.book.apply(Notice::record(id_of(2), kPrefill, Bytes(3))));
  CHECK(bench.book.take(id_of(2)).failure->code == Errc::corrupt);
  bench.ended(1, NoticeKind::closed);
  bench.ended(2, NoticeKind::closed);
  CHECK(bench.pool.drained());
}

TEST_CASE("TransferBook: a lost peer ends its rooms and its quarantines, and no one else's") {
  Bench bench(4);
  bench.open(1, 1);
  bench.open(2, 1);
  bench.open(3, 1, kOther);
  bench.book.abandon(id_of(1), Failure(Errc::aborted, "decode/0", "client went away"));
  const auto concluded = bench.book.peer_gone(kPrefill, Failure(Errc::peer_lost, "decode/0", "gone"));
  CHECK(concluded == std::vector<TransferId>{id_of(2)});
  CHECK(bench.book.take(id_of(1)).failure->code == Errc::aborted);
  CHECK(bench.book.take(id_of(2)).failure->code == Errc::peer_lost);
  CHECK(bench.pool.leased() == 1);
  CHECK(bench.pool.quarantined() == 0);
  PeerId restarted = kOther;
  restarted.instance.low = 2;
  CHECK(bench.book.peer_gone(restarted, Failure()).empty());
  bench.book.peer_gone(kOther, Failure());
  bench.book.take(id_of(3));
}

TEST_CASE("TransferBook: only the source of a room is heard in it") {
  Bench bench(1);
  bench.open(1, 1);
  CHECK(!bench.written(1, 0, 0, 9, kOther));
  CHECK(!bench.book.apply(Notice(NoticeKind::closed, id_of(1), kOther)));
  CHECK(!bench.book.has_verdict(id_of(1)));
  bench.book.abandon(id_of(1), Failure());
  CHECK(!bench.book.apply(Notice(NoticeKind::closed, id_of(1), kOther)));
  CHECK(bench.pool.quarantined() == 1);
  bench.ended(1, NoticeKind::closed);
  bench.book.take(id_of(1));
}

TEST_CASE("TransferBook: a room opens once") {
  Bench bench(2);
  bench.open(1, 1);
  const auto refused = [&] {
    Expectation expectation(RoomId{1}, kPrefill, *bench.pool.acquire(1), 4);
    return !bench.book.open(expectation, expectation.lease.size());
  };
  CHECK(refused());
  bench.book.abandon(id_of(1), Failure());
  CHECK(refused());
  bench.book.take(id_of(1));
  CHECK(refused());
  bench.ended(1, NoticeKind::closed);
  CHECK(refused());
  CHECK(bench.pool.drained());
}

TEST_CASE("TransferBook: unknown rooms and misdirected answers are counted and harmless") {
  Bench bench(1);
  CHECK(!bench.written(99, 0, 0));
  CHECK(!bench.ended(99, NoticeKind::closed));
  CHECK(!bench.ended(99, NoticeKind::answer));
  CHECK(!bench.book.abandon(id_of(99), Failure()));
  CHECK(bench.book.late_notices() == 3);
  CHECK(bench.book.take_answers().empty());
}

// Random notices, abandons, takes and peer deaths. At every step the pool's pages are exactly those of open rooms and
// of quarantines; at the end one verdict per room, and nothing left once every sender has closed.
TEST_CASE("TransferBook: random histories give each room one verdict and every page back") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    test::Pick pick(seed);
    Bench bench(12);
    std::map<std::uint64_t, std::uint32_t> pages;  // of each room
    std::set<std::uint64_t> taken;
    for (std::uint64_t room = 1; room <= 4; ++room) {
      pages[room] = 1 + pick(3);
      bench.open(room, pages[room]);
    }
    for (int step = 0; step < 80; ++step) {
      const std::uint64_t room = 1 + pick(5);
      const std::uint32_t size = pages.contains(room) ? pages[room] : 1;
      const std::uint32_t choice = pick(100);
      const std::uint32_t page = pick(size);
      if (choice < 60) {
        bench.written(room, page, page);
      } else if (choice < 75) {
        bench.record(room, size, size);
      } else if (choice < 80) {
        bench.ended(room, choice < 78 ? NoticeKind::failed : NoticeKind::closed);
      } else if (choice < 85) {
        bench.book.abandon(id_of(room), Failure(Errc::timeout, "decode/0", "deadline"));
      } else if (choice < 86) {
        bench.book.peer_gone(kPrefill, Failure(Errc::peer_lost, "decode/0", "gone"));
      } else if (bench.book.has_verdict(id_of(room))) {
        REQUIRE(taken.insert(room).second);
        const Arrival arrival = bench.book.take(id_of(room));
        REQUIRE(arrival.lease.size() == (arrival.ok() ? size : 0));
      }
      REQUIRE(bench.book.open_transfers() + taken.size() == 4);
      REQUIRE((bench.pool.quarantined() == 0) == (bench.book.quarantined() == 0));
    }
    for (std::uint64_t room = 1; room <= 4; ++room) {
      bench.ended(room, NoticeKind::closed);
      if (!taken.contains(room)) {
        REQUIRE(bench.book.has_verdict(id_of(room)));
        bench.book.take(id_of(room));
      }
    }
    REQUIRE(bench.book.open_transfers() == 0);
    REQUIRE(bench.book.quarantined() == 0);
    REQUIRE(bench.pool.drained());
  }
}

}  // namespace
}  // namespace baton
