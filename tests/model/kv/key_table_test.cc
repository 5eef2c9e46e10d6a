#include "model/kv/key_table.h"

#include <map>
#include <set>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

namespace baton {
namespace {

TEST_CASE("KeyTable: random additions and removals agree with a map, for hashed, counted and crowded keys") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    test::Pick pick(seed);
    Random random(seed);
    KeyTable table;
    std::map<std::uint64_t, std::uint32_t> expected;
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 500; ++i) {
      keys.push_back(seed % 3 == 0 ? random.next() : seed % 3 == 1 ? i : i << 60);
    }
    for (int step = 0; step < 4000; ++step) {
      const std::uint64_t key = keys[pick(keys.size())];
      const auto found = expected.find(key);
      REQUIRE(table.find(key) == (found == expected.end() ? KeyTable::kNone : found->second));
      if (found != expected.end()) {
        table.remove(key, found->second);
        expected.erase(found);
      } else if (expected.size() < 300) {
        const std::uint32_t value = pick(1000);
        table.add(key, value);
        expected.emplace(key, value);
      }
      REQUIRE(table.size() == expected.size());
    }
  }
}

TEST_CASE("KeyTable: zero is a key like others") {
  KeyTable table;
  CHECK(table.find(0) == KeyTable::kNone);
  table.add(0, 0);
  CHECK(table.find(0) == 0);
  table.remove(0, 0);
  CHECK(table.find(0) == KeyTable::kNone);
}

TEST_CASE("KeyTable: values under one key are told apart, through growth and removal") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    test::Pick pick(seed);
    KeyTable table;
    std::set<std::pair<std::uint64_t, std::uint32_t>> expected;
    for (int step = 0; step < 2000; ++step) {
      const std::pair<std::uint64_t, std::uint32_t> pair{pick(20), pick(10)};
      const bool known = expected.contains(pair);
      const auto found = table.find_if(pair.first, [&](std::uint32_t value) { return value == pair.second; });
      REQUIRE(found == (known ? pair.second : KeyTable::kNone));
      if (known) {
        table.remove(pair.first, pair.second);
        expected.erase(pair);
      } else {
        table.add(pair.first, pair.second);
        expected.insert(pair);
      }
      REQUIRE(table.size() == expected.size());
    }
  }
}

}  // namespace
}  // namespace baton
