#include "transport/endpoint.h"

#include <doctest/doctest.h>

#include "tests/support/pick.h"
#include "transport/recent_ids.h"

namespace baton {
namespace {

using Pages = std::vector<PageId>;
using Runs = std::vector<PageRun>;

TEST_CASE("merge_runs: merges only where both sides go on") {
  CHECK(merge_runs({}, {}).empty());
  CHECK(merge_runs(Pages{4, 5, 6}, Pages{0, 1, 2}) == Runs{{4, 0, 3}});
  CHECK(merge_runs(Pages{4, 5, 6}, Pages{0, 1, 3}) == Runs{{4, 0, 2}, {6, 3, 1}});
  CHECK(merge_runs(Pages{4, 6, 7}, Pages{0, 1, 2}) == Runs{{4, 0, 1}, {6, 1, 2}});
  CHECK(merge_runs(Pages{6, 5, 4}, Pages{2, 1, 0}) == Runs{{6, 2, 1}, {5, 1, 1}, {4, 0, 1}});
}

TEST_CASE("merge_runs: the runs give the same pages back, and no two could be one") {
  test::Pick pick(3);
  for (int round = 0; round < 1000; ++round) {
    Pages source;
    Pages target;
    for (std::uint32_t i = pick(30); i > 0; --i) {
      const bool next = !source.empty() && pick(3) != 0;
      source.push_back(next ? source.back() + 1 : pick(50));
      target.push_back(next && pick(4) != 0 ? target.back() + 1 : pick(50));
    }
    Pages source_again;
    Pages target_again;
    const Runs runs = merge_runs(source, target);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::uint32_t page = 0; page < runs[i].pages; ++page) {
        source_again.push_back(runs[i].source + page);
        target_again.push_back(runs[i].target + page);
      }
      if (i > 0) {
        const PageRun& before = runs[i - 1];
        REQUIRE(!(before.source + before.pages == runs[i].source && before.target + before.pages == runs[i].target));
      }
    }
    REQUIRE(source_again == source);
    REQUIRE(target_again == target);
  }
}

TEST_CASE("RecentIds: forgets the oldest first and never grows beyond its bound") {
  const auto id = [](std::uint64_t room) { return TransferId{{1, 1}, {room}}; };
  RecentIds recent(3);
  for (std::uint64_t room = 0; room < 5; ++room) {
    recent.insert(id(room));
    recent.insert(id(room));
  }
  CHECK(recent.size() == 3);
  CHECK(!recent.contains(id(1)));
  CHECK(recent.contains(id(2)));
  CHECK(recent.contains(id(4)));
}

TEST_CASE("RecentIds: the first outcome stays") {
  const TransferId id{{1, 1}, {1}};
  RecentIds recent(3);
  CHECK(recent.outcome(id) == nullptr);
  recent.insert(id, Failure(Errc::aborted, "decode/0", "left"));
  recent.insert(id);
  REQUIRE(recent.outcome(id) != nullptr);
  REQUIRE(recent.outcome(id)->has_value());
  CHECK((*recent.outcome(id))->message == "left");
}

}  // namespace
}  // namespace baton
