#include "model/kv/kv_pool.h"

#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/kv/tiny_prompts.h"

namespace baton {
namespace {

std::vector<PageId> pages_of(const KvLease& lease) {
  return {lease.pages().begin(), lease.pages().end()};
}

TEST_CASE("KvPool: acquires all of the pages or none, lowest index first") {
  KvPool pool(tiny_layout(), 5);
  auto first = pool.acquire(3);
  REQUIRE(first);
  CHECK(pages_of(*first) == std::vector<PageId>{0, 1, 2});
  CHECK(!pool.acquire(3));
  CHECK(pool.free() == 2);
  auto second = pool.acquire(1);
  REQUIRE(second);
  first->release();
  auto third = pool.acquire(4);
  REQUIRE(third);
  CHECK(pages_of(*third) == std::vector<PageId>{0, 1, 2, 4});
  CHECK(pool.leased() == 5);
}

TEST_CASE("KvPool: a lease grows at its end, and a refused growth changes nothing") {
  KvPool pool(tiny_layout(), 4);
  auto lease = pool.acquire(0);
  REQUIRE(lease);
  CHECK(static_cast<bool>(*lease));
  CHECK(pool.extend(*lease, 3));
  CHECK(!pool.extend(*lease, 2));
  CHECK(lease->size() == 3);
  CHECK(pool.free() == 1);
  CHECK(pool.extend(*lease, 1));
  CHECK(pages_of(*lease) == std::vector<PageId>{0, 1, 2, 3});
}

TEST_CASE("KvPool: moving a lease moves the right and nothing else") {
  KvPool pool(tiny_layout(), 4);
  auto lease = pool.acquire(2);
  REQUIRE(lease);
  KvLease moved = std::move(*lease);
  CHECK(!*lease);
  CHECK(lease->size() == 0);
  lease->release();
  CHECK(pool.leased() == 2);
  moved = KvLease();
  CHECK(pool.drained());
}

TEST_CASE("KvPool: pages whose lease ended stay in quarantine until the last pin ends") {
  KvPool pool(tiny_layout(), 4);
  auto lease = pool.acquire(2);
  REQUIRE(lease);
  KvPin first = lease->pin();
  KvPin second = lease->pin();
  CHECK(pool.extend(*lease, 1));
  lease->release();
  CHECK(pool.quarantined() == 2);
  CHECK(pool.free() == 2);
  CHECK(pool.state(0) == PageState::quarantined);
  CHECK(pool.state(2) == PageState::free);
  first.release();
  first.release();
  CHECK(pool.quarantined() == 2);
  KvPin moved = std::move(second);
  second.release();
  CHECK(pool.quarantined() == 2);
  moved.release();
  CHECK(pool.drained());
}

TEST_CASE("KvPool: a pin that ends before its lease changes nothing") {
  KvPool pool(tiny_layout(), 2);
  auto lease = pool.acquire(2);
  REQUIRE(lease);
  lease->pin().release();
  CHECK(pool.leased() == 2);
  CHECK(pool.quarantined() == 0);
}

TEST_CASE("KvPool: the listener hears once of every lease and pin that frees pages, and of no other") {
  KvPool pool(tiny_layout(), 4);
  int told = 0;
  pool.on_pages_back([&] { ++told; });
  auto first = pool.acquire(2);
  auto second = pool.acquire(2);
  KvPin pin = first->pin();
  first->release();
  CHECK(told == 0);
  second->release();
  CHECK(told == 1);
  pin.release();
  CHECK(told == 2);
  pool.acquire(0);
  CHECK(told == 2);
  pool.on_pages_back({});
  pool.acquire(1);
  CHECK(told == 2);
}

TEST_CASE("KvPool: a generation tells a page's lives apart") {
  KvPool pool(tiny_layout(), 1);
  CHECK(pool.generation(0) == 0);
  pool.acquire(1);
  pool.acquire(1);
  CHECK(pool.generation(0) == 2);
}

TEST_CASE("KvPool: poison covers every free page and no leased one") {
  KvArena arena(tiny_layout(), 3);
  KvPool pool(tiny_layout(), 3, &arena);
  CHECK(arena.poisoned(2));
  {
    auto lease = pool.acquire(2);
    REQUIRE(lease);
    std::memset(arena.page(0).data(), 7, arena.page(0).size());
    KvPin pin = lease->pin();
    lease->release();
    CHECK(!arena.poisoned(0));
  }
  CHECK(arena.poisoned(0));
}

// Whether the work ends the program, as a failed BATON_CHECK does. It runs in a child process.
template <class Work>
bool aborts(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);  // doctest's handler would report a failed test
    work();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST_CASE("KvPool: a write into a free page stops the program when the page is given out") {
  KvArena arena(tiny_layout(), 3);
  KvPool pool(tiny_layout(), 3, &arena);
  CHECK(!aborts([&] { pool.acquire(2); }));
  arena.page(1)[5] = std::byte{1};
  CHECK(!aborts([&] { pool.acquire(1); }));
  CHECK(aborts([&] { pool.acquire(2); }));
}

TEST_CASE("KvPool: a pool that ends before its leases stops the program") {
  CHECK(aborts([] {
    auto pool = std::make_unique<KvPool>(tiny_layout(), 3);
    auto lease = pool->acquire(2);
    pool.reset();
  }));
}

// The pool beside a plain list of what is held: random leases, growth, pins and ends, in every interleaving.
class PoolRun final {
 public:
  explicit PoolRun(unsigned seed)
      : random_(seed), arena_(tiny_layout(), kPages), pool_(tiny_layout(), kPages, &arena_) {}

  void step() {
    const std::size_t choice = pick(6);
    const auto wanted = static_cast<std::uint32_t>(pick(5));
    const bool fits = wanted <= pool_.free();
    if (choice <= 1) {
      auto lease = pool_.acquire(wanted);
      REQUIRE(lease.has_value() == fits);
      if (lease) {
        leases_.push_back(std::move(*lease));
      }
    } else if (choice == 2 && !leases_.empty()) {
      REQUIRE(pool_.extend(leases_[pick(leases_.size())], wanted) == fits);
    } else if (choice == 3 && !leases_.empty()) {
      pins_.push_back(leases_[pick(leases_.size())].pin());
    } else if (choice == 4 && !leases_.empty()) {
      drop(leases_);
    } else if (choice == 5 && !pins_.empty()) {
      drop(pins_);
    }
  }

  void check() {
    std::set<PageId> leased;
    std::set<PageId> pinned;
    std::size_t leased_count = 0;
    for (const KvLease& lease : leases_) {
      leased.insert(lease.pages().begin(), lease.pages().end());
      leased_count += lease.size();
      for (const PageId page : lease.pages()) {
        arena_.page(page)[pick(arena_.page(page).size())] = std::byte(pick(256));
      }
    }
    for (const KvPin& pin : pins_) {
      pinned.insert(pin.pages().begin(), pin.pages().end());
    }
    REQUIRE(leased.size() == leased_count);  // no page has two leases
    REQUIRE(pool_.free() + pool_.leased() + pool_.quarantined() == kPages);
    for (PageId page = 0; page < kPages; ++page) {
      const PageState expected = leased.contains(page)   ? PageState::leased
                                 : pinned.contains(page) ? PageState::quarantined
                                                         : PageState::free;
      REQUIRE(pool_.state(page) == expected);
      REQUIRE((expected != PageState::free || arena_.poisoned(page)));
    }
  }

  void finish() {
    leases_.clear();
    REQUIRE(pool_.leased() == 0);
    pins_.clear();
    REQUIRE(pool_.drained());
  }

 private:
  static constexpr std::uint32_t kPages = 13;

  std::size_t pick(std::size_t bound) { return random_() % bound; }

  template <class T>
  void drop(std::vector<T>& held) {
    std::swap(held[pick(held.size())], held.back());
    held.pop_back();
  }

  std::mt19937 random_;
  KvArena arena_;
  KvPool pool_;
  std::vector<KvLease> leases_;
  std::vector<KvPin> pins_;
};

TEST_CASE("KvPool: random operations agree with a list of owners") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    PoolRun run(seed);
    for (int step = 0; step < 300; ++step) {
      run.step();
      run.check();
    }
    run.finish();
  }
}

}  // namespace
}  // namespace baton
