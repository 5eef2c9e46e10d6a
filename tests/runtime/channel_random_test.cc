// Random sends, receives, removals, re-orderings, cancels and a random close, judged by what must hold whatever
// happens: an item is with exactly one owner, accepted items come out in order, refused items never come out.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/channel.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

enum class Fate { in_flight, accepted, refused, received };

// What the test believes about every item, and the number of item objects alive.
struct Ledger {
  std::map<int, Fate> fate;
  std::vector<int> arrivals;  // in the order in which receivers got them
  int alive = 0;
  std::uint64_t hash = 1469598103934665603U;

  void note(int value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211U; }
};

class Item final {
 public:
  Item(Ledger& ledger, int id) : ledger_(&ledger), id_(id) { ++ledger.alive; }
  Item(Item&& other) noexcept : ledger_(std::exchange(other.ledger_, nullptr)), id_(other.id_) {}
  Item& operator=(Item&& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~Item() {
    if (ledger_ != nullptr) {
      --ledger_->alive;
    }
  }
  int id() const { return id_; }

 private:
  Ledger* ledger_;
  int id_;
};

struct World {
  explicit World(std::uint64_t seed_in, std::size_t capacity) : random(seed_in), channel(context, "items", capacity) {}

  SimContext context;
  Random random;
  Ledger ledger;
  Channel<Item> channel;
  bool shuffles = false;  // removals and re-orderings too: then arrivals have no order
  int next_id = 0;
};

Duration soon(World& world) {
  return Duration(static_cast<std::int64_t>(world.random.uniform(20)));
}

void received(World& world, const Item& item) {
  Fate& fate = world.ledger.fate.at(item.id());
  CHECK(fate != Fate::received);
  CHECK(fate != Fate::refused);
  fate = Fate::received;
  world.ledger.arrivals.push_back(item.id());
  world.ledger.note(item.id());
}

Task<> producer(World& world, int count) {
  for (int i = 0; i < count; ++i) {
    co_await pause(world.context, soon(world));
    const int id = world.next_id++;
    Item item(world.ledger, id);
    world.ledger.fate[id] = Fate::in_flight;
    if (world.random.chance(0.3)) {
      if (!world.channel.try_send(item)) {
        world.ledger.fate[id] = Fate::refused;
      }
      continue;
    }
    const bool sent = co_await world.channel.send(std::move(item));
    Fate& fate = world.ledger.fate.at(id);
    CHECK((sent || fate == Fate::in_flight));
    if (fate == Fate::in_flight) {
      fate = sent ? Fate::accepted : Fate::refused;
    }
  }
}

Task<> consumer(World& world) {
  for (;;) {
    if (world.random.chance(0.3)) {
      const TimePoint deadline = world.context.now() + soon(world);
      auto item = co_await world.channel.recv_before(deadline);
      if (item.has_value()) {
        received(world, *item);
      } else if (item.error() == Errc::unavailable) {
        co_return;
      }
    } else {
      auto item = co_await world.channel.recv();
      if (!item) {
        co_return;
      }
      received(world, *item);
    }
    co_await pause(world.context, soon(world));
  }
}

Task<> shuffler(World& world) {
  while (!world.channel.closed()) {
    co_await pause(world.context, soon(world) + Duration(5));
    if (auto item = world.channel.remove_if_first([](const Item& candidate) { return candidate.id() % 3 == 0; })) {
      received(world, *item);
    }
    world.channel.reorder([](const Item& a, const Item& b) { return a.id() % 5 < b.id() % 5; });
  }
}

Task<> play(World& world) {
  Scope scope(world.context, "world");
  std::vector<TaskHandle> tasks;
  for (int i = 0; i < 6; ++i) {
    tasks.push_back(scope.spawn("producer", producer(world, 40)));
    tasks.push_back(scope.spawn("consumer", consumer(world)));
  }
  if (world.shuffles) {
    tasks.push_back(scope.spawn("shuffler", shuffler(world)));
  }
  auto disturb = [](World& world_in, std::vector<TaskHandle>& victims) -> Task<> {
    for (int i = 0; i < 8; ++i) {
      co_await pause(world_in.context, soon(world_in) * 5);
      victims[world_in.random.uniform(victims.size())].cancel();
    }
    co_await pause(world_in.context, soon(world_in) * 20);
    world_in.channel.close();
  };
  scope.spawn("disturb", disturb(world, tasks));
  co_await scope.join();
}

// Plays one seed; the hash of what arrived and when.
std::uint64_t outcome(std::uint64_t seed, std::size_t capacity, bool shuffles) {
  World world(seed, capacity);
  world.shuffles = shuffles;
  test::run(world.context, play(world));
  std::set<int> left;
  while (auto item = world.channel.try_recv()) {
    left.insert(item->id());
  }
  for (const auto& [id, fate] : world.ledger.fate) {
    CAPTURE(seed);
    CAPTURE(id);
    const bool is_left = left.count(id) == 1;
    if (fate == Fate::accepted) {
      CHECK(is_left);  // neither lost nor received: it must still be there
    }
    if (fate == Fate::refused || fate == Fate::received) {
      CHECK_FALSE(is_left);
    }
  }
  if (!shuffles) {
    // Ids are drawn when a send begins, so first in, first out means rising ids, whoever received them.
    CHECK(world.ledger.arrivals.size() > 10);
    CHECK(std::is_sorted(world.ledger.arrivals.begin(), world.ledger.arrivals.end()));
  }
  CHECK(world.ledger.alive == 0);
  world.ledger.note(static_cast<int>(world.context.now().time_since_epoch().count()));
  return world.ledger.hash;
}

}  // namespace

TEST_CASE("Channel: under random operations and cancels every item has exactly one fate, and reruns agree") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::size_t capacity = 1 + seed % 4;
    const bool shuffles = seed % 2 == 0;
    const std::uint64_t first = outcome(seed, capacity, shuffles);
    CHECK(first == outcome(seed, capacity, shuffles));
  }
}

}  // namespace baton
