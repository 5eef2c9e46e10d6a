#include "roles/policy/routing.h"

#include <vector>

#include <doctest/doctest.h>

using namespace baton::policy;

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
  for (const Routing routing : {Routing::round_robin, Routing::random, Routing::least_loaded}) {
    CHECK(parse_routing(to_string(routing)) == routing);
  }
  CHECK_FALSE(parse_routing("fastest").has_value());
}
