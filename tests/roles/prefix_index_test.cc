#include "roles/prefix_index.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "model/kv/prefix_keys.h"
#include "tests/support/pick.h"

namespace baton {
namespace {

constexpr PrefixIndex::Limits kFine{16, 1, 100'000};  // an entry a page

using Keys = std::vector<std::uint64_t>;

// Keys of a prompt that begins with `pages` pages of the family's text and goes on with `more` of its own.
Keys prompt(std::uint64_t family, std::size_t pages, std::uint64_t own = 0, std::size_t more = 0) {
  std::vector<TokenId> tokens(pages, static_cast<TokenId>(family));
  tokens.insert(tokens.end(), more, static_cast<TokenId>(1'000 + own));
  return prefix_keys(tokens, 1, 0);
}

std::map<std::size_t, std::uint32_t> hits(PrefixIndex& index, const Keys& keys) {
  std::map<std::size_t, std::uint32_t> found;
  for (const policy::PrefixHit& hit : index.match(keys)) {
    CHECK(found.emplace(hit.rank, hit.tokens).second);
  }
  return found;
}

TEST_CASE("PrefixIndex: who was sent a prefix is expected to have it, as far as prompts agree") {
  PrefixIndex index(kFine);
  CHECK(index.match(prompt(1, 9)).empty());
  index.sent(prompt(1, 10, 5, 20), 3);
  CHECK(hits(index, prompt(1, 10, 6, 5)) == std::map<std::size_t, std::uint32_t>{{3, 160}});
  CHECK(hits(index, prompt(1, 4)) == std::map<std::size_t, std::uint32_t>{{3, 64}});
  CHECK(hits(index, prompt(1, 10, 5, 20)) == std::map<std::size_t, std::uint32_t>{{3, 480}});
  CHECK(index.match(prompt(2, 10)).empty());
  CHECK(index.match({}).empty());
}

TEST_CASE("PrefixIndex: ranks that have less are found as well, and never with more than they were sent") {
  PrefixIndex index(kFine);
  index.sent(prompt(1, 40), 0);
  index.sent(prompt(1, 20), 1);
  index.sent(prompt(1, 3), 2);
  const auto found = hits(index, prompt(1, 40));
  CHECK(found.at(0) == 640);
  CHECK(found.at(1) <= 320);
  CHECK(found.at(1) > 200);
  CHECK(found.at(2) <= 48);
  CHECK(found.at(2) > 0);
}

TEST_CASE("PrefixIndex: with a grain only whole grains are known") {
  PrefixIndex index({16, 8, 1000});
  index.sent(prompt(1, 30), 0);
  CHECK(index.size() == 3);
  CHECK(hits(index, prompt(1, 30)) == std::map<std::size_t, std::uint32_t>{{0, 24 * 16}});
  CHECK(hits(index, prompt(1, 15)) == std::map<std::size_t, std::uint32_t>{{0, 8 * 16}});
  CHECK(index.match(prompt(1, 7)).empty());
}

TEST_CASE("PrefixIndex: a popular prefix is remembered with the ranks that got it last") {
  PrefixIndex index(kFine);
  for (std::size_t rank = 0; rank < 20; ++rank) {
    index.sent(prompt(1, 4), rank);
    index.sent(prompt(1, 4), 5);
  }
  const auto found = hits(index, prompt(1, 4));
  CHECK(found.size() == PrefixIndex::kRanksMax);
  CHECK(found.contains(5));
  CHECK(found.contains(19));
  CHECK_FALSE(found.contains(0));
}

TEST_CASE("PrefixIndex: a full one forgets what was not used for longest, ends before beginnings") {
  PrefixIndex index({16, 1, 30});
  index.sent(prompt(1, 10), 1);
  index.sent(prompt(2, 10), 2);
  index.sent(prompt(1, 5), 1);
  index.sent(prompt(3, 13), 3);
  CHECK(index.size() == 30);
  CHECK(hits(index, prompt(1, 10)) == std::map<std::size_t, std::uint32_t>{{1, 7 * 16}});
  CHECK(hits(index, prompt(2, 10)) == std::map<std::size_t, std::uint32_t>{{2, 160}});
  index.sent(prompt(4, 15), 4);
  CHECK(index.match(prompt(2, 10)).empty());
  CHECK(hits(index, prompt(1, 10)) == std::map<std::size_t, std::uint32_t>{{1, 2 * 16}});
}

TEST_CASE("PrefixIndex: a rank that starts again has nothing") {
  PrefixIndex index(kFine);
  index.sent(prompt(1, 4), 1);
  index.sent(prompt(1, 4), 2);
  index.forget(1);
  CHECK(hits(index, prompt(1, 4)) == std::map<std::size_t, std::uint32_t>{{2, 64}});
}

TEST_CASE("PrefixIndex: random traffic never promises more than was sent, and finds whoever has the most") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    test::Pick pick(seed);
    PrefixIndex index({16, 1 + pick(3), seed % 3 == 0 ? 60U : 100'000U});
    std::map<std::size_t, std::set<std::uint64_t>> sent;  // by rank
    for (int step = 0; step < 300; ++step) {
      const std::size_t shared = pick(20);
      const std::size_t more = pick(10);
      const Keys keys = prompt(pick(4), shared, pick(5), more);
      std::uint32_t most = 0;
      const auto length = [&](std::size_t rank) {
        const auto known = [&](std::uint64_t key) { return sent[rank].contains(key); };
        const auto end = std::ranges::find_if_not(keys, known);
        return static_cast<std::uint32_t>(end - keys.begin()) * 16;
      };
      for (const policy::PrefixHit& hit : index.match(keys)) {
        REQUIRE(hit.tokens <= length(hit.rank));
        most = std::max(most, hit.tokens);
      }
      for (std::size_t rank = 0; rank < 5; ++rank) {
        REQUIRE((seed % 3 == 0 || most + 3 * 16 > length(rank)));  // but for what is cut off by the grain
      }
      const std::size_t rank = pick(5);
      index.sent(keys, rank);
      sent[rank].insert(keys.begin(), keys.end());
    }
  }
}

}  // namespace
}  // namespace baton
