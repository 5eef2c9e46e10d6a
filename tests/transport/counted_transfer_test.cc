#include "transport/counted_transfer.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

namespace baton {
namespace {

const TransferId kId{{1, 2}, {77}};
constexpr std::uint32_t kTokens = 40;

SideRecord record_of(std::uint32_t pages, std::uint32_t writes, TransferId id = kId) {
  SideRecord record(kTokens, SampledToken(5, -0.5F, {}), 0, PrefillTimes{});
  record.id = id;
  record.pages_total = pages;
  record.writes_total = writes;
  return record;
}

CountedTransfer transfer_of(std::uint32_t pages) {
  return {kId, kTokens, pages, "decode/0"};
}

struct Write {
  std::uint32_t sequence;
  std::uint32_t first_page;
  std::uint32_t pages;
};

// Delivers event `index`: a write, or the record when there are no more writes.
void deliver(CountedTransfer& transfer, const std::vector<Write>& writes, std::size_t index, std::uint32_t pages) {
  if (index == writes.size()) {
    transfer.take_record(record_of(pages, static_cast<std::uint32_t>(writes.size())));
  } else {
    transfer.count_write(writes[index].sequence, writes[index].first_page, writes[index].pages);
  }
}

TEST_CASE("CountedTransfer: completes in every order of three writes and the record, never before the last") {
  const std::vector<Write> writes{{0, 0, 2}, {1, 2, 1}, {2, 3, 2}};
  std::vector<std::size_t> order{0, 1, 2, 3};
  do {
    CountedTransfer transfer = transfer_of(5);
    for (std::size_t i = 0; i < order.size(); ++i) {
      CHECK(!transfer.complete());
      deliver(transfer, writes, order[i], 5);
      CHECK(!transfer.failure());
    }
    CHECK(transfer.complete());
    CHECK(transfer.record().first.id == 5);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("CountedTransfer: duplicates at every place of every order change nothing") {
  const std::vector<Write> writes{{0, 0, 1}, {1, 1, 1}, {2, 2, 1}};
  // All sequences of 7 deliveries of the 4 events: the state must follow from the set that has been seen.
  for (std::uint32_t code = 0; code < 1U << 14; ++code) {
    CountedTransfer transfer = transfer_of(3);
    std::uint32_t seen = 0;
    for (std::uint32_t i = 0; i < 7; ++i) {
      const std::uint32_t event = (code >> (2 * i)) & 3;
      deliver(transfer, writes, event, 3);
      seen |= 1U << event;
      REQUIRE(transfer.complete() == (seen == 15));
    }
    REQUIRE(!transfer.failure());
  }
}

TEST_CASE("CountedTransfer: a page that is pushed twice needs both writes") {
  for (const bool record_first : {true, false}) {
    CountedTransfer transfer = transfer_of(2);
    if (record_first) {
      transfer.take_record(record_of(2, 3));
    }
    transfer.count_write(0, 0, 2);
    transfer.count_write(2, 1, 1);
    if (!record_first) {
      transfer.take_record(record_of(2, 3));
    }
    CHECK(!transfer.complete());
    transfer.count_write(1, 1, 1);
    CHECK(transfer.complete());
  }
}

TEST_CASE("CountedTransfer: another room's record is left aside and the room goes on") {
  CountedTransfer transfer = transfer_of(1);
  transfer.count_write(0, 0, 1);
  CHECK(!transfer.take_record(record_of(1, 1, TransferId{{1, 2}, {78}})));
  CHECK(!transfer.take_record(record_of(1, 1, TransferId{{9, 2}, {77}})));
  CHECK(!transfer.complete());
  CHECK(!transfer.failure());
  CHECK(transfer.take_record(record_of(1, 1)));
  CHECK(transfer.complete());
}

void check_corrupt(CountedTransfer& transfer) {
  REQUIRE(transfer.failure());
  CHECK(transfer.failure()->code == Errc::corrupt);
  CHECK(transfer.failure()->origin == "decode/0");
  CHECK(!transfer.complete());
  for (std::uint32_t i = 0; i < 4; ++i) {  // final, whatever comes
    transfer.count_write(i, 0, 1);
  }
  transfer.take_record(record_of(2, 2));
  CHECK(!transfer.complete());
}

TEST_CASE("CountedTransfer: writes outside of the landing are corrupt, without an allocation for them") {
  constexpr std::uint32_t kMax = 0xffffffffU;
  for (const Write& write : std::vector<Write>{
           {0, 0, 3}, {0, 2, 1}, {0, kMax, 1}, {0, 1, kMax}, {0, kMax, kMax}, {writes_max(2), 0, 1}, {kMax, 0, 1}}) {
    CountedTransfer transfer = transfer_of(2);
    transfer.count_write(write.sequence, write.first_page, write.pages);
    check_corrupt(transfer);
  }
}

TEST_CASE("CountedTransfer: totals that cannot be true are corrupt") {
  SUBCASE("another number of pages") {
    CountedTransfer transfer = transfer_of(2);
    transfer.take_record(record_of(3, 2));
    check_corrupt(transfer);
  }
  SUBCASE("another prompt") {
    CountedTransfer transfer(kId, kTokens + 1, 2, "decode/0");
    transfer.take_record(record_of(2, 2));
    check_corrupt(transfer);
  }
  SUBCASE("a write beyond the declared ones, before the record") {
    CountedTransfer transfer = transfer_of(2);
    transfer.count_write(2, 0, 1);
    transfer.take_record(record_of(2, 2));
    check_corrupt(transfer);
  }
  SUBCASE("a write beyond the declared ones, after the record") {
    CountedTransfer transfer = transfer_of(2);
    transfer.take_record(record_of(2, 2));
    transfer.count_write(2, 0, 1);
    check_corrupt(transfer);
  }
  SUBCASE("all writes seen, a page missing") {
    CountedTransfer transfer = transfer_of(2);
    transfer.count_write(0, 0, 1);
    transfer.count_write(1, 0, 1);
    transfer.take_record(record_of(2, 2));
    check_corrupt(transfer);
  }
  SUBCASE("more writes than anyone may make") {
    CountedTransfer transfer = transfer_of(2);
    transfer.take_record(record_of(2, writes_max(2) + 1));
    check_corrupt(transfer);
  }
  SUBCASE("two different records") {
    CountedTransfer transfer = transfer_of(2);
    SideRecord other = record_of(2, 2);
    other.first.id = 6;
    transfer.take_record(record_of(2, 2));
    transfer.take_record(std::move(other));
    check_corrupt(transfer);
  }
}

TEST_CASE("CountedTransfer: nothing that comes after completion changes it") {
  CountedTransfer transfer = transfer_of(1);
  transfer.count_write(0, 0, 1);
  transfer.take_record(record_of(1, 1));
  CHECK(transfer.complete());
  SideRecord other = record_of(9, 9);
  other.first.id = 6;
  transfer.count_write(4, 7, 9);
  transfer.take_record(std::move(other));
  CHECK(transfer.complete());
  CHECK(!transfer.failure());
  CHECK(transfer.record().first.id == 5);
}

TEST_CASE("CountedTransfer: random splits of random landings complete at exactly the last missing event") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    test::Pick pick(seed);
    const std::uint32_t pages = 1 + pick(40);
    std::vector<Write> writes;
    for (std::uint32_t page = 0; page < pages;) {
      const std::uint32_t count = std::min<std::uint32_t>(pages - page, 1 + pick(5));
      writes.push_back({static_cast<std::uint32_t>(writes.size()), page, count});
      page += pick(4) == 0 && page + 1 < pages && count > 1 ? count - 1 : count;  // some pages twice
    }
    std::vector<std::size_t> events;
    for (std::size_t i = 0; i <= writes.size(); ++i) {
      events.insert(events.end(), 1 + pick(3), i);
    }
    pick.shuffle(events);
    CountedTransfer transfer = transfer_of(pages);
    std::vector<bool> seen(writes.size() + 1);
    for (const std::size_t event : events) {
      deliver(transfer, writes, event, pages);
      seen[event] = true;
      REQUIRE(transfer.complete() == (std::ranges::count(seen, false) == 0));
      REQUIRE(!transfer.failure());
    }
  }
}

}  // namespace
}  // namespace baton
