#include "model/kv/kv_arena.h"

#include <cstring>

#include <doctest/doctest.h>

#include "runtime/errors.h"

namespace baton {
namespace {

KvLayout odd_layout() {
  KvLayout layout;
  layout.layers = 3;
  layout.kv_heads = 1;
  layout.head_dim = 5;
  layout.page_tokens = 7;
  return layout;
}

TEST_CASE("KvArena: pages are page_bytes apart, apart from each other, and zero at first") {
  KvArena arena(odd_layout(), 9);
  CHECK(reinterpret_cast<std::uintptr_t>(arena.base()) % 4096 == 0);
  for (PageId page = 0; page < 9; ++page) {
    CHECK(arena.page(page).data() == arena.base() + page * odd_layout().page_bytes());
    CHECK(arena.page(page).size() == odd_layout().page_bytes());
    for (const std::byte value : arena.page(page)) {
      REQUIRE(value == std::byte{0});
    }
    std::memset(arena.page(page).data(), 1 + static_cast<int>(page), arena.page(page).size());
  }
  for (PageId page = 0; page < 9; ++page) {
    CHECK(arena.page(page).front() == std::byte(1 + page));
    CHECK(arena.page(page).back() == std::byte(1 + page));
  }
}

TEST_CASE("KvArena: one changed byte anywhere breaks the poison") {
  KvArena arena(odd_layout(), 2);
  arena.poison(1);
  CHECK(arena.poisoned(1));
  CHECK(!arena.poisoned(0));
  for (std::byte& value : arena.page(1)) {
    const std::byte before = value;
    value = std::byte{0};
    REQUIRE(!arena.poisoned(1));
    value = before;
  }
  CHECK(arena.poisoned(1));
}

TEST_CASE("KvArena: an impossible size is an error, not a crash") {
  KvLayout layout = odd_layout();
  layout.layers = 1U << 31;
  layout.kv_heads = 1U << 20;
  CHECK_THROWS_AS(KvArena(layout, 1U << 30), Error);
}

}  // namespace
}  // namespace baton
