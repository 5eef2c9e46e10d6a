#include "model/kv/page_set.h"

#include <set>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

namespace baton {
namespace {

TEST_CASE("PageSet: a full one gives all numbers in order, whatever its size") {
  for (const std::uint32_t bound : {1U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 300'000U}) {
    PageSet set(bound);
    CHECK(set.size() == 0);
    set.fill();
    REQUIRE(set.size() == bound);
    for (PageId page = 0; page < bound; ++page) {
      REQUIRE(set.lowest() == page);
      set.remove(page);
    }
    CHECK(set.size() == 0);
  }
}

TEST_CASE("PageSet: random additions and removals agree with an ordered set") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::Pick pick(seed);
    const std::uint32_t bound = 1 + pick(10'000);
    PageSet set(bound);
    std::set<PageId> expected;
    for (int step = 0; step < 5000; ++step) {
      const PageId page = pick(pick.chance(0.5) ? bound : 1 + bound / 50);
      if (pick.chance(0.5)) {
        set.add(page);
        expected.insert(page);
      } else {
        set.remove(page);
        expected.erase(page);
      }
      REQUIRE(set.size() == expected.size());
      REQUIRE((expected.empty() || set.lowest() == *expected.begin()));
    }
  }
}

}  // namespace
}  // namespace baton
