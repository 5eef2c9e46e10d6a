#include "roles/policy/routing.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "tests/support/pick.h"

using namespace baton::policy;

namespace {

std::vector<RankLoad> random_ranks(baton::test::Pick& pick) {
  std::vector<RankLoad> ranks(1 + pick(12));
  for (RankLoad& rank : ranks) {
    rank.outstanding_tokens = pick(2) * pick(5000);
    rank.usable = pick.chance(0.8);
  }
  return ranks;
}

std::vector<std::size_t> usable(const std::vector<RankLoad>& ranks) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].usable) {
      indices.push_back(i);
    }
  }
  return indices;
}

std::uint64_t least(const std::vector<RankLoad>& ranks) {
  std::uint64_t tokens = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t index : usable(ranks)) {
    tokens = std::min(tokens, ranks[index].outstanding_tokens);
  }
  return tokens;
}

std::int64_t score(const std::vector<RankLoad>& ranks, const std::vector<PrefixHit>& hits, std::uint64_t slack,
                   std::size_t rank) {
  const auto hit = std::ranges::find(hits, rank, &PrefixHit::rank);
  const auto excess = static_cast<std::int64_t>(ranks[rank].outstanding_tokens - least(ranks));
  const std::int64_t tokens = hit == hits.end() ? 0 : std::int64_t{hit->tokens};
  return tokens - std::max<std::int64_t>(0, excess - static_cast<std::int64_t>(slack));
}

}  // namespace

TEST_CASE("Routing: round-robin takes every usable rank in turn") {
  std::vector<RankLoad> ranks(3);
  ranks[1].usable = false;
  std::vector<std::size_t> chosen;
  for (std::uint64_t turn = 0; turn < 6; ++turn) {
    chosen.push_back(*choose_rank(ranks, Routing::round_robin, turn, 0));
  }
  CHECK(chosen == std::vector<std::size_t>{0, 2, 2, 0, 2, 2});
}

TEST_CASE("Routing: least-loaded takes the smallest outstanding work and alternates among equals") {
  std::vector<RankLoad> ranks(3);
  ranks[0].outstanding_tokens = 50;
  ranks[1].outstanding_tokens = 10;
  ranks[2].outstanding_tokens = 10;
  CHECK(choose_rank(ranks, Routing::least_loaded, 0, 0) == 1);
  CHECK(choose_rank(ranks, Routing::least_loaded, 2, 0) == 2);
  ranks[1].usable = false;
  CHECK(choose_rank(ranks, Routing::least_loaded, 1, 0) == 2);
}

TEST_CASE("Routing: random follows the draw and skips what is not usable") {
  std::vector<RankLoad> ranks(4);
  ranks[3].usable = false;
  CHECK(choose_rank(ranks, Routing::random, 0, 6) == 2);
  CHECK(choose_rank(ranks, Routing::random, 0, 7) == 0);
}

TEST_CASE("Routing: no usable rank, no choice") {
  std::vector<RankLoad> ranks(2);
  ranks[0].usable = ranks[1].usable = false;
  CHECK_FALSE(choose_rank(ranks, Routing::round_robin, 0, 0).has_value());
  CHECK_FALSE(choose_rank({}, Routing::random, 0, 0).has_value());
}

TEST_CASE("Routing: names and values agree both ways") {
  for (const Routing routing :
       {Routing::round_robin, Routing::random, Routing::least_loaded, Routing::power_of_two, Routing::prefix_aware}) {
    CHECK(parse_routing(to_string(routing)) == routing);
  }
  CHECK_FALSE(parse_routing("fastest").has_value());
}

TEST_CASE("Routing: whatever the loads, the choice is a usable rank, and the same again") {
  baton::test::Pick pick(1);
  baton::Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<RankLoad> ranks = random_ranks(pick);
    const auto routing = static_cast<Routing>(pick(5));
    const std::uint64_t turn = random.next();
    const std::uint64_t draw = random.next();
    const auto chosen = choose_rank(ranks, routing, turn, draw);
    REQUIRE(chosen.has_value() == !usable(ranks).empty());
    if (chosen) {
      REQUIRE(ranks[*chosen].usable);
      REQUIRE(choose_rank(ranks, routing, turn, draw) == chosen);
      REQUIRE((routing < Routing::least_loaded || routing == Routing::power_of_two ||
               ranks[*chosen].outstanding_tokens == least(ranks)));
    }
  }
}

TEST_CASE("Routing: power of two takes the less loaded of two, never the most loaded one of several") {
  baton::Random random(2);
  std::vector<RankLoad> ranks(5);
  ranks[3].outstanding_tokens = 10;
  std::vector<int> counts(5);
  for (int round = 0; round < 10'000; ++round) {
    ++counts[*choose_rank(ranks, Routing::power_of_two, 0, random.next())];
  }
  CHECK(counts[3] == 0);
  for (const std::size_t other : {0U, 1U, 2U, 4U}) {
    CHECK(counts[other] > 1500);
  }
}

TEST_CASE("Routing: a prefix draws its requests until the wait there costs more than it saves") {
  std::vector<RankLoad> ranks(3);
  const std::vector<PrefixHit> hits{{1, 1000}, {2, 400}};
  CHECK(choose_by_prefix(ranks, hits, 0, 0) == 1);
  ranks[1].outstanding_tokens = 599;
  CHECK(choose_by_prefix(ranks, hits, 0, 0) == 1);
  ranks[1].outstanding_tokens = 700;
  CHECK(choose_by_prefix(ranks, hits, 0, 0) == 2);
  ranks[2].outstanding_tokens = 500;
  ranks[1].outstanding_tokens = 1100;
  CHECK(choose_by_prefix(ranks, hits, 0, 0) == 0);
  CHECK(choose_by_prefix(ranks, hits, 200, 0) == 2);  // both at 100: the less loaded one
  ranks[2].usable = false;
  CHECK(choose_by_prefix(ranks, hits, 200, 0) == 1);
}

TEST_CASE("Routing: without a known prefix, prefix-aware is least-loaded and alternates among equals") {
  std::vector<RankLoad> ranks(3);
  for (std::uint64_t turn = 0; turn < 6; ++turn) {
    CHECK(choose_by_prefix(ranks, {}, 100, turn) == turn % 3);
  }
  CHECK_FALSE(choose_by_prefix({}, {}, 0, 0).has_value());
}

TEST_CASE("Routing: by prefix nobody has a better score than the one chosen") {
  baton::test::Pick pick(3);
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<RankLoad> ranks = random_ranks(pick);
    std::vector<PrefixHit> hits;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (pick.chance(0.4)) {
        hits.push_back({rank, pick(6000)});
      }
    }
    pick.shuffle(hits);
    const std::uint64_t slack = pick(3) * 500;
    const auto chosen = choose_by_prefix(ranks, hits, slack, pick(100));
    REQUIRE(chosen.has_value() == !usable(ranks).empty());
    for (const std::size_t rank : usable(ranks)) {
      REQUIRE(ranks[*chosen].usable);
      REQUIRE(score(ranks, hits, slack, rank) <= score(ranks, hits, slack, *chosen));
    }
  }
}
