#include "roles/policy/retraction.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

using namespace baton::policy;

TEST_CASE("Retraction: nobody gives way when the step fits") {
  const std::vector<RetractionCandidate> running{{5, 10, 2, 1, true}, {6, 10, 2, 1, true}};
  CHECK(choose_victims(running, 2).empty());
}

TEST_CASE("Retraction: the one with the fewest output tokens goes first, then the one with the longest prompt") {
  const std::vector<RetractionCandidate> running{{9, 10, 1, 1, true}, {3, 10, 1, 1, true}, {3, 90, 6, 1, true}};
  CHECK(choose_victims(running, 0) == std::vector<std::size_t>{2});
  CHECK(choose_one_victim(running) == std::vector<std::size_t>{2});
}

TEST_CASE("Retraction: where the latest go, age alone decides") {
  const std::vector<RetractionCandidate> running{{1, 10, 2, 1, true}, {9, 10, 2, 1, true}, {9, 10, 2, 1, true}};
  CHECK(choose_victims(running, 0, Victims::latest) == std::vector<std::size_t>{2});
  CHECK(choose_victims(running, 0, Victims::least_lost) == std::vector<std::size_t>{0});
  CHECK(choose_one_victim(running, Victims::latest) == std::vector<std::size_t>{2});
  std::vector<RetractionCandidate> held = running;
  held[2].retractable = false;
  CHECK(choose_victims(held, 0, Victims::latest) == std::vector<std::size_t>{1});
}

TEST_CASE("Retraction: one request always stays, even if it still lacks a page") {
  const std::vector<RetractionCandidate> one{{9, 10, 4, 1, true}};
  CHECK(choose_victims(one, 0).empty());
  CHECK(choose_one_victim(one).empty());
}

TEST_CASE("Retraction: who is being written to is no victim") {
  const std::vector<RetractionCandidate> running{{1, 10, 4, 1, false}, {8, 10, 4, 1, true}};
  CHECK(choose_victims(running, 0) == std::vector<std::size_t>{1});
}

TEST_CASE("Retraction: random batches free enough or leave one, and take no more than needed") {
  baton::test::Pick random(3);
  for (int round = 0; round < 3000; ++round) {
    std::vector<RetractionCandidate> running(1 + random(8));
    for (auto& candidate : running) {
      candidate.output_tokens = 1 + random(5);
      candidate.prompt_tokens = 1 + random(50);
      candidate.pages = 1 + random(6);
      candidate.pages_wanted = random(2);
      candidate.retractable = random(5) != 0;
    }
    const std::uint32_t free = random(4);
    const auto victims = choose_victims(running, free);
    CHECK(victims.size() < running.size());
    std::uint64_t have = free;
    std::uint64_t want = 0;
    std::size_t retractable = 0;
    for (std::size_t i = 0; i < running.size(); ++i) {
      const bool victim = std::find(victims.begin(), victims.end(), i) != victims.end();
      CHECK((!victim || running[i].retractable));
      retractable += running[i].retractable ? 1 : 0;
      (victim ? have : want) += victim ? running[i].pages : running[i].pages_wanted;
    }
    const bool all_gone = victims.size() + 1 == running.size() || victims.size() == retractable;
    CHECK((want <= have || all_gone));
    if (!victims.empty()) {  // without the last victim it would not have been enough
      const RetractionCandidate& last = running[victims.back()];
      CHECK(want + last.pages_wanted > have - last.pages);
    }
  }
}
