#include "model/kv/page_set.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

namespace baton {
namespace {

TEST_CASE("PageSet: a full one gives all numbers in order, whatever its size and however many at a time") {
  for (const std::uint32_t bound : {1U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 300'000U}) {
    for (const std::uint32_t step : {1U, 7U, 64U, 1000U}) {
      PageSet set(bound);
      CHECK(set.size() == 0);
      set.fill();
      REQUIRE(set.size() == bound);
      std::vector<PageId> taken;
      bool lowest_first = true;
      while (set.size() > 0) {
        lowest_first = lowest_first && set.lowest() == taken.size() && set.size() + taken.size() == bound;
        set.take_lowest(std::min(step, set.size()), taken);
      }
      CHECK(lowest_first);
      std::vector<PageId> expected(bound);
      std::iota(expected.begin(), expected.end(), 0);
      CHECK(std::ranges::equal(taken, expected));
    }
  }
}

// Runs of neighbours, and pages here and there, some of which are in already.
std::vector<PageId> draw_pages(test::Pick& pick, std::uint32_t bound) {
  std::vector<PageId> pages;
  for (std::uint32_t runs = pick(4); runs > 0; --runs) {
    PageId page = pick(bound);
    for (std::uint32_t left = 1 + (pick.chance(0.5) ? 0 : pick(200)); left > 0 && page < bound; --left) {
      pages.push_back(page++);
    }
  }
  if (pick.chance(0.3)) {
    std::reverse(pages.begin(), pages.end());
  }
  return pages;
}

TEST_CASE("PageSet: random additions and takings agree with an ordered set") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::Pick pick(seed);
    const std::uint32_t bound = 1 + pick(10'000);
    PageSet set(bound);
    std::set<PageId> expected;
    for (int step = 0; step < 2000; ++step) {
      if (pick.chance(0.5)) {
        const std::vector<PageId> pages = draw_pages(pick, bound);
        set.add(pages);
        expected.insert(pages.begin(), pages.end());
      } else {
        std::vector<PageId> taken;
        const auto most = static_cast<std::uint32_t>(expected.size());
        const std::uint32_t count = std::min(most, pick.chance(0.1) ? most : pick(200));
        set.take_lowest(count, taken);
        const auto end = std::next(expected.begin(), count);
        REQUIRE(std::ranges::equal(taken, std::ranges::subrange(expected.begin(), end)));
        expected.erase(expected.begin(), end);
      }
      REQUIRE(set.size() == expected.size());
      REQUIRE((expected.empty() || set.lowest() == *expected.begin()));
    }
  }
}

}  // namespace
}  // namespace baton
