// The prefix cache inside of its pool: what is found, what may be taken back, and that contents are never lost.
#include "model/kv/prefix_cache.h"

#include <memory>
#include <optional>

#include <doctest/doctest.h>

#include "model/kv/kv_pool.h"
#include "tests/model/kv/tiny_prompts.h"

namespace baton {
namespace {

std::vector<PageId> pages_of(const KvLease& lease) {
  return {lease.pages().begin(), lease.pages().end()};
}

// Acquires, "computes" and keeps a prompt of those pages, then ends the lease.
void leave_in_cache(KvPool& pool, const Keys& keys) {
  auto lease = pool.acquire(static_cast<std::uint32_t>(keys.size()), keys);
  REQUIRE(lease);
  pool.keep(*lease, keys);
}

TEST_CASE("PrefixCache: a second prompt finds the pages of the first and pays for the rest") {
  KvPool pool(tiny_layout(), 8, nullptr, true);
  leave_in_cache(pool, {1, 2, 3});
  CHECK(pool.cached() == 3);
  CHECK(pool.free() == 5);
  CHECK(pool.available() == 8);
  CHECK(pool.drained());
  const auto lease = pool.acquire(5, Keys{1, 2, 9, 10});
  REQUIRE(lease);
  CHECK(lease->found() == 2);
  CHECK(pages_of(*lease) == std::vector<PageId>{0, 1, 3, 4, 5});
  CHECK(pool.leased() == 3);
  CHECK(pool.available() == 3);
  CHECK(!pool.drained());
  CHECK(pool.cache_counts() == CacheCounts{7, 2, 0});
}

TEST_CASE("PrefixCache: a pool without a cache keeps and finds nothing") {
  KvPool pool(tiny_layout(), 8);
  leave_in_cache(pool, {1, 2, 3});
  CHECK(pool.free() == 8);
  const auto lease = pool.acquire(3, Keys{1, 2, 3});
  CHECK(lease->found() == 0);
  CHECK(pool.cache_counts() == CacheCounts{});
}

TEST_CASE("PrefixCache: what nobody uses is taken back, the longest unused first, leaves before their stems") {
  KvPool pool(tiny_layout(), 6, nullptr, true);
  leave_in_cache(pool, {1, 2, 3});  // pages 0, 1, 2
  leave_in_cache(pool, {1, 7});     // page 3 on page 0
  auto wide = pool.acquire(4);      // two free ones, and pages 2 and 1
  REQUIRE(wide);
  CHECK(pool.cache_counts().evicted == 2);
  CHECK(pool.acquire(0, Keys{})->found() == 0);
  CHECK(pool.found_in_use(Keys{1, 7}) == 0);
  const auto branch = pool.acquire(2, Keys{1, 7});
  REQUIRE(branch);
  CHECK(branch->found() == 2);
  CHECK(pool.found_in_use(Keys{1, 7, 8}) == 2);
  CHECK(pool.available() == 0);
}

TEST_CASE("PrefixCache: pages in use are not taken back, and a lease that does not fit changes nothing") {
  KvPool pool(tiny_layout(), 4, nullptr, true);
  leave_in_cache(pool, {1, 2});
  auto user = pool.acquire(2, Keys{1, 2});
  REQUIRE(user);
  CHECK(pool.available() == 2);
  CHECK(!pool.acquire(3));
  CHECK(!pool.acquire(5, Keys{1, 2}));
  auto other = pool.acquire(4, Keys{1, 2});
  REQUIRE(other);
  CHECK(other->found() == 2);
  CHECK(pool.returned_by(*other) == 2);
  user->release();
  CHECK(pool.available() == 0);
  CHECK(pool.returned_by(*other) == 4);
  other->release();
  CHECK(pool.drained());
}

TEST_CASE("PrefixCache: two who computed the same share its first copy, and the second copy is given back") {
  KvPool pool(tiny_layout(), 8, nullptr, true);
  auto first = pool.acquire(2, Keys{1, 2});
  auto second = pool.acquire(3, Keys{1, 2, 3});
  pool.keep(*first, Keys{1, 2});
  pool.keep(*second, Keys{1, 2, 3});
  CHECK(pool.cached() == 3);
  CHECK(pool.leased() == 2);
  first->release();
  CHECK(pool.available() == 3);  // the second holds the path to its third page
  second->release();
  CHECK(pool.drained());
  CHECK(pool.free() == 5);
  CHECK(pool.acquire(3, Keys{1, 2, 3})->found() == 3);
}

TEST_CASE("PrefixCache: a page that is pinned never gets in, nor does what stands behind it") {
  KvPool pool(tiny_layout(), 8, nullptr, true);
  auto lease = pool.acquire(2);
  REQUIRE(pool.extend(*lease, 0));
  KvPin pin = lease->pin();
  REQUIRE(pool.extend(*lease, 1));
  pool.keep(*lease, Keys{1, 2, 3});
  CHECK(pool.cached() == 0);
  lease->release();
  CHECK(pool.quarantined() == 2);
  pin.release();
  CHECK(pool.free() == 8);
}

TEST_CASE("PrefixCache: a pin on cached pages keeps them from being taken back") {
  KvPool pool(tiny_layout(), 4, nullptr, true);
  leave_in_cache(pool, {1, 2});
  auto lease = pool.acquire(3, Keys{1, 2});
  KvPin pin = lease->pin();
  lease->release();
  CHECK(pool.quarantined() == 1);
  CHECK(pool.available() == 1);
  CHECK(!pool.acquire(2));
  pin.release();
  CHECK(pool.available() == 4);
}

TEST_CASE("PrefixCache: the listener hears when cached pages become available") {
  KvPool pool(tiny_layout(), 4, nullptr, true);
  int told = 0;
  pool.on_pages_back([&] { ++told; });
  leave_in_cache(pool, {1, 2, 3, 4});
  CHECK(told == 1);
}

TEST_CASE("PrefixCache: a prompt that parts inside of a run leaves those who hold the run what they had") {
  KvPool pool(tiny_layout(), 8, nullptr, true);
  leave_in_cache(pool, {1, 2, 3, 4});
  auto whole = pool.acquire(4, Keys{1, 2, 3, 4});
  KvPin pin = whole->pin();
  auto half = pool.acquire(3, Keys{1, 2, 9});
  CHECK(half->found() == 2);
  pool.keep(*half, Keys{1, 2, 9});
  CHECK(pool.cached() == 5);
  CHECK(pool.available() == 3);
  CHECK(pool.returned_by(*whole) == 0);  // the pin holds it
  pin.release();
  CHECK(pool.returned_by(*whole) == 2);
  CHECK(pool.returned_by(*half) == 1);
  whole->release();
  CHECK(pool.available() == 5);
  CHECK(pool.found_in_use(Keys{1, 2, 3, 4}) == 2);
  CHECK(pool.returned_by(*half) == 3);
  half->release();
  CHECK(pool.drained());
  CHECK(pool.acquire(4, Keys{1, 2, 3, 4})->found() == 4);
  CHECK(pool.acquire(3, Keys{1, 2, 9})->found() == 3);
}

TEST_CASE("PrefixCache: of a run nobody uses the end goes first, and what is left is found") {
  KvPool pool(tiny_layout(), 4, nullptr, true);
  leave_in_cache(pool, {1, 2, 3, 4});
  auto other = pool.acquire(1);
  CHECK(pages_of(*other) == std::vector<PageId>{3});
  CHECK(pool.acquire(3, Keys{1, 2, 3, 4})->found() == 3);
  auto more = pool.acquire(2);
  CHECK(pages_of(*more) == std::vector<PageId>{1, 2});
  CHECK(pool.acquire(1, Keys{1, 2})->found() == 1);
  CHECK(pool.acquire(1));
  CHECK(pool.cached() == 0);
}

TEST_CASE("PrefixCache: what was split goes in the order in which it was used, whichever part it was") {
  KvPool pool(tiny_layout(), 6, nullptr, true);
  leave_in_cache(pool, {1, 2, 3});  // pages 0, 1, 2
  leave_in_cache(pool, {7, 8});     // pages 3, 4
  leave_in_cache(pool, {1});        // and so 7 and 8 are older than 1
  auto lease = pool.acquire(4);
  CHECK(pages_of(*lease) == std::vector<PageId>{1, 2, 4, 5});
  CHECK(pool.acquire(1, Keys{1})->found() == 1);
  CHECK(pool.acquire(1, Keys{7})->found() == 1);
}

TEST_CASE("PrefixCache: equal keys behind different prefixes, which chained ones never are, share nothing") {
  KvPool pool(tiny_layout(), 8, nullptr, true);
  leave_in_cache(pool, {1, 2, 2});
  leave_in_cache(pool, {3, 2, 4});
  CHECK(pool.cached() == 6);
  CHECK(pages_of(*pool.acquire(3, Keys{3, 2, 2})) == std::vector<PageId>{3, 4, 6});
  leave_in_cache(pool, {1, 5});  // now 2 is a first key behind 1
  leave_in_cache(pool, {3, 5});  // and behind 3
  CHECK(pool.cached() == 8);
  CHECK(pool.acquire(3, Keys{1, 2, 2})->found() == 3);
  CHECK(pool.acquire(3, Keys{3, 2, 4})->found() == 3);
  CHECK(pool.acquire(8));
  CHECK(pool.cached() == 0);
}

}  // namespace
}  // namespace baton
