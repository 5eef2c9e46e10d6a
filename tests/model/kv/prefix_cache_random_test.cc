// Random leases, pins and growth on a small pool with a prefix cache, beside a plain account of what must come of them.
#include <algorithm>
#include <cstring>
#include <map>

#include <doctest/doctest.h>

#include "model/kv/kv_pool.h"
#include "model/kv/prefix_keys.h"
#include "tests/model/kv/tiny_prompts.h"
#include "tests/support/pick.h"

namespace baton {
namespace {

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
