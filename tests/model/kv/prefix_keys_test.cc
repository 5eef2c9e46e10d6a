#include "model/kv/prefix_keys.h"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

namespace baton {
namespace {

std::vector<TokenId> numbers(std::size_t count) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(i));
  }
  return tokens;
}

TEST_CASE("prefix_keys: one key a whole page, none for the rest") {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 7U, 8U, 9U}) {
    CHECK(prefix_keys(numbers(count), 4, 0).size() == count / 4);
  }
}

TEST_CASE("prefix_keys: a longer prompt's keys begin with the shorter one's") {
  const auto longer = prefix_keys(numbers(100), 8, 5);
  const auto shorter = prefix_keys(numbers(50), 8, 5);
  CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST_CASE("prefix_keys: equal keys mean equal prefixes, among random prompts over few tokens") {
  std::map<std::uint64_t, std::vector<TokenId>> known;
  test::Pick pick(3);
  for (int round = 0; round < 3000; ++round) {
    std::vector<TokenId> tokens;
    for (std::uint32_t left = pick(24); left > 0; --left) {
      tokens.push_back(static_cast<TokenId>(pick(3)));
    }
    const auto keys = prefix_keys(tokens, 2, 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::vector<TokenId> prefix(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(2 * (i + 1)));
      REQUIRE(known.try_emplace(keys[i], prefix).first->second == prefix);
    }
  }
  std::map<std::vector<TokenId>, std::uint64_t> by_prefix;
  for (const auto& [key, prefix] : known) {
    REQUIRE(by_prefix.try_emplace(prefix, key).second);  // and a prefix has one key
  }
}

TEST_CASE("prefix_keys: salts, seeds and page sizes share nothing") {
  const auto tokens = numbers(64);
  std::vector<std::uint64_t> all;
  for (const std::uint64_t root : {prefix_root("", 0), prefix_root("a", 0), prefix_root("b", 0), prefix_root("a", 1)}) {
    for (const std::uint32_t page : {1U, 2U, 16U}) {
      const auto keys = prefix_keys(tokens, page, root);
      all.insert(all.end(), keys.begin(), keys.end());
    }
  }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("reusable_pages: the page of the last token is never one of them") {
  CHECK(reusable_pages(0, 1, 16) == 0);
  CHECK(reusable_pages(1, 16, 16) == 0);
  CHECK(reusable_pages(1, 17, 16) == 1);
  CHECK(reusable_pages(2, 32, 16) == 1);
  CHECK(reusable_pages(1, 100, 16) == 1);  // the front end gave fewer keys
  CHECK(reusable_pages(5, 5, 1) == 4);
}

}  // namespace
}  // namespace baton
