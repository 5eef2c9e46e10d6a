// The prefix cache inside of its pool: what is found, what may be taken back, and that contents are never lost.
#include "model/kv/prefix_cache.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include <doctest/doctest.h>

#include "model/kv/kv_pool.h"
#include "model/kv/prefix_keys.h"
#include "tests/support/pick.h"

namespace baton {
namespace {

constexpr std::uint32_t kPageTokens = 4;

KvLayout tiny_layout() {
  KvLayout layout;
  layout.layers = 1;
  layout.kv_heads = 1;
  layout.head_dim = 8;
  layout.page_tokens = kPageTokens;
  return layout;
}

using Keys = std::vector<std::uint64_t>;

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

// The pool beside a plain account of who holds what. Every page's bytes say which prefix it was computed for.
class CacheRun final {
 public:
  explicit CacheRun(std::uint64_t seed)
      : pick_(seed), arena_(tiny_layout(), kPages), pool_(tiny_layout(), kPages, &arena_, true) {}

  void step() {
    const std::uint32_t choice = pick_(10);
    if (choice < 4) {
      acquire();
    } else if (choice < 6 && !rooms_.empty()) {
      Room& room = any();
      pool_.keep(room.lease, room.keys);
      note_kept(room);
    } else if (choice == 6 && !rooms_.empty()) {
      Room& room = any();
      const std::uint32_t more = pick_(3);
      const std::uint32_t before = pool_.available();
      REQUIRE(pool_.extend(room.lease, more) == (more <= before));
      note_evictions();
      fill(room, room.lease.size() - (more <= before ? more : 0));
    } else if (choice == 7 && !rooms_.empty()) {
      const Room& room = any();
      pins_.push_back({room.lease.pin(), held_by(room)});
    } else if (choice == 8 && !pins_.empty()) {
      const std::size_t index = pick_(pins_.size());
      note_use(pins_[index].held);
      pins_.erase(pins_.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (!rooms_.empty()) {
      end();
    }
  }

  void check() {
    REQUIRE(pool_.free() + pool_.leased() + pool_.cached() + pool_.quarantined() == kPages);
    std::uint32_t cached = 0;
    for (PageId page = 0; page < kPages; ++page) {
      cached += pool_.state(page) == PageState::cached ? 1 : 0;
      REQUIRE((pool_.state(page) != PageState::free || arena_.poisoned(page)));
    }
    REQUIRE(cached == pool_.cached());
    for (const Room& room : rooms_) {
      for (std::uint32_t i = 0; i < room.lease.size(); ++i) {
        REQUIRE(pool_.state(room.lease.pages()[i]) != PageState::free);
        REQUIRE(word_of(room.lease.pages()[i]) == room.word(i));  // nobody else has written it
      }
    }
    for (const Pin& pin : pins_) {
      for (const PageId page : pin.pin.pages()) {
        REQUIRE(pool_.state(page) != PageState::free);
      }
    }
    const auto holds = [](const auto& holder) { return !holder.pages().empty(); };
    const bool held = std::ranges::any_of(rooms_, [&](const Room& room) { return holds(room.lease); }) ||
                      std::ranges::any_of(pins_, [&](const Pin& pin) { return holds(pin.pin); });
    REQUIRE(pool_.drained() == !held);
  }

  void finish() {
    rooms_.clear();
    pins_.clear();
    REQUIRE(pool_.drained());
    REQUIRE(pool_.leased() + pool_.quarantined() == 0);
  }

  std::uint64_t found() const { return pool_.cache_counts().found; }
  std::uint64_t evicted() const { return pool_.cache_counts().evicted; }

 private:
  static constexpr std::uint32_t kPages = 23;

  struct Room {
    KvLease lease;
    Keys keys;
    std::size_t held = 0;  // leading keys whose cached pages it uses
    std::uint64_t word(std::uint32_t page) const {
      return page < keys.size() ? keys[page] : 1'000'000 + keys.size() * 100 + page;
    }
  };

  struct Pin {
    KvPin pin;
    Keys held;
  };
  struct Kept {
    PageId page;
    std::uint64_t last_use;
    Keys above;
  };

  Room& any() { return rooms_[pick_(rooms_.size())]; }
  static Keys held_by(const Room& room) {
    return {room.keys.begin(), room.keys.begin() + static_cast<std::ptrdiff_t>(room.held)};
  }

  void acquire() {
    std::vector<TokenId> tokens;
    for (std::uint32_t left = pick_(8 * kPageTokens); left > 0; --left) {
      tokens.push_back(static_cast<TokenId>(tokens.size() % kPageTokens == 0 ? pick_(2) : 0));
    }
    Room room;
    room.keys = prefix_keys(tokens, kPageTokens, 0);
    const auto pages = static_cast<std::uint32_t>(room.keys.size()) + pick_(3);
    std::uint32_t in_cache = 0;
    while (in_cache < room.keys.size() && kept_.contains(room.keys[in_cache])) {
      ++in_cache;
    }
    const std::uint32_t in_use = pool_.found_in_use(room.keys);
    REQUIRE(in_use <= in_cache);
    const bool fits = pages - in_use <= pool_.available();
    auto lease = pool_.acquire(pages, room.keys);
    REQUIRE(lease.has_value() == fits);
    if (lease) {
      REQUIRE(lease->found() == in_cache);
      room.lease = std::move(*lease);
      room.held = room.lease.found();
      note_evictions();
      fill(room, room.lease.found());
      rooms_.push_back(std::move(room));
    }
  }

  void fill(const Room& room, std::uint32_t from) {
    for (std::uint32_t i = from; i < room.lease.size(); ++i) {
      const std::uint64_t word = room.word(i);
      std::memcpy(arena_.page(room.lease.pages()[i]).data(), &word, sizeof word);
    }
  }

  std::uint64_t word_of(PageId page) const {
    std::uint64_t word = 0;
    std::memcpy(&word, arena_.page(page).data(), sizeof word);
    return word;
  }

  void note_kept(Room& room) {
    for (std::size_t i = 0; i < room.keys.size(); ++i) {
      const std::uint64_t key = room.keys[i];
      const PageId own = room.lease.pages()[i];
      if (!kept_.contains(key) && pool_.state(own) == PageState::cached) {
        kept_[key] = {own, 0, {room.keys.begin(), room.keys.begin() + static_cast<std::ptrdiff_t>(i)}};
      }
      if (!kept_.contains(key)) {
        break;
      }
      room.held = std::max(room.held, i + 1);
    }
  }

  // Of what was taken back just now: nobody held it, nothing hangs on it, and nothing idle is older.
  void note_evictions() {
    std::uint64_t latest_gone = 0;
    for (auto entry = kept_.begin(); entry != kept_.end();) {
      if (pool_.state(entry->second.page) == PageState::cached && word_of(entry->second.page) == entry->first) {
        ++entry;
        continue;
      }
      latest_gone = std::max(latest_gone, entry->second.last_use);
      entry = kept_.erase(entry);
    }
    for (const auto& [key, kept] : kept_) {
      for (const std::uint64_t above : kept.above) {
        REQUIRE(kept_.contains(above));
      }
      REQUIRE((in_use(key) || kept.last_use >= latest_gone));
    }
  }

  bool in_use(std::uint64_t key) const { return pool_.found_in_use(path_to(key)) == path_to(key).size(); }
  Keys path_to(std::uint64_t key) const {
    Keys path = kept_.at(key).above;
    path.push_back(key);
    return path;
  }

  void end() {
    const std::size_t index = pick_(rooms_.size());
    note_use(held_by(rooms_[index]));
    rooms_.erase(rooms_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void note_use(const Keys& held) {
    ++now_;
    for (const std::uint64_t key : held) {
      kept_.at(key).last_use = now_;
    }
  }

  test::Pick pick_;
  KvArena arena_;
  KvPool pool_;
  std::vector<Room> rooms_;
  std::vector<Pin> pins_;
  std::map<std::uint64_t, Kept> kept_;
  std::uint64_t now_ = 1;
};

TEST_CASE("PrefixCache: random leases, pins, growth and keeping agree with a plain account") {
  std::uint64_t found = 0;
  std::uint64_t evicted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CacheRun run(seed);
    for (int step = 0; step < 300; ++step) {
      CAPTURE(seed);
      CAPTURE(step);
      run.step();
      run.check();
    }
    found += run.found();
    evicted += run.evicted();
    run.finish();
  }
  CHECK(found > 5'000);
  CHECK(evicted > 1'000);
}

}  // namespace
}  // namespace baton
