#include "sim/explorer/explore.h"

#include <csignal>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/explorer/fake_world.h"

namespace baton::chaos {
namespace {

ExploreOptions options_for(std::uint64_t first, std::uint64_t seeds) {
  ExploreOptions options;
  options.first = first;
  options.seeds = seeds;
  options.jobs = 3;
  return options;
}

TEST_CASE("explore: all seeds run once each and their counts add up") {
  ExploreOptions options = options_for(100, 500);
  options.digests = true;
  const Exploration result =
      explore(options, scenario_of, [](const Scenario& scenario, RunOptions) { return good_report(scenario); });
  CHECK_FALSE(result.finding);
  CHECK_FALSE(result.interrupted);
  CHECK(result.tally.seeds == 500);
  CHECK(result.tally.requests == 1000);
  CHECK(result.tally.finished == 500);
  CHECK(result.tally.faults[static_cast<std::size_t>(Fault::crash)] == 500);
  CHECK(result.tally.coverage.reached.count() == 500);
  REQUIRE(result.digests.size() == 500);
  for (std::uint64_t i = 0; i < 500; ++i) {
    CHECK(result.digests[i] == (100 + i) * 3);
  }
}

TEST_CASE("explore: the lowest failing seed is found, whichever worker comes first") {
  const auto run = [](const Scenario& scenario, RunOptions) {
    if (scenario.seed == 40) {
      ::usleep(50'000);  // those above it fail long before
    }
    return scenario.seed >= 40 ? bad_report(scenario, "terminal", 5) : good_report(scenario);
  };
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Exploration result = explore(options_for(1, 1000), scenario_of, run);
    REQUIRE(result.finding);
    CHECK(result.seed == 40);
    CHECK(result.finding->rule == "terminal");
    CHECK(result.finding->message == "request 5");
    CHECK(result.finding->request == 5);
    CHECK(result.tally.seeds < 60);
  }
}

TEST_CASE("explore: a seed that aborts is found with the words of the check") {
  const auto run = [](const Scenario& scenario, RunOptions) {
    const std::uint64_t seed = scenario.seed;
    BATON_CHECK(seed != 17, seed);
    return good_report(scenario);
  };
  const Exploration result = explore(options_for(1, 100), scenario_of, run);
  REQUIRE(result.finding);
  CHECK(result.seed == 17);
  CHECK(result.finding->rule == kAbortRule);
  CHECK(result.finding->message.find("check failed: seed != 17 [seed] = 17") != std::string::npos);
  CHECK(result.finding->place.find("explore_test.cc:") != std::string::npos);
}

TEST_CASE("explore: a seed that throws or is killed is found") {
  const auto throws = [](const Scenario& scenario, RunOptions) -> RunReport {
    if (scenario.seed == 9) {
      throw std::runtime_error("nobody takes this");
    }
    return good_report(scenario);
  };
  Exploration result = explore(options_for(1, 50), scenario_of, throws);
  REQUIRE(result.finding);
  CHECK(result.seed == 9);
  CHECK(result.finding->message == "exception: nobody takes this");

  const auto dies = [](const Scenario& scenario, RunOptions) {
    if (scenario.seed == 11) {
      ::raise(SIGKILL);
    }
    return good_report(scenario);
  };
  result = explore(options_for(1, 50), scenario_of, dies);
  REQUIRE(result.finding);
  CHECK(result.seed == 11);
  CHECK(result.finding->rule == kAbortRule);
  CHECK(result.finding->place == "signal 9 (Killed)");
}

TEST_CASE("explore: a seed without end is found, and those below it are finished") {
  ExploreOptions options = options_for(1, 30);
  options.seed_limit = std::chrono::milliseconds(300);
  options.digests = true;
  const Exploration result = explore(options, scenario_of, [](const Scenario& scenario, RunOptions) {
    if (scenario.seed == 20) {
      hang();
    }
    return good_report(scenario);
  });
  REQUIRE(result.finding);
  CHECK(result.seed == 20);
  CHECK(result.finding->rule == kEndlessRule);
  CHECK(result.digests.size() == 19);
}

TEST_CASE("explore: Ctrl-C ends it, with what was counted so far") {
  const auto run = [](const Scenario& scenario, RunOptions) {
    if (scenario.seed == 5) {
      ::kill(::getppid(), SIGINT);
      hang();
    }
    return good_report(scenario);
  };
  const Exploration result = explore(options_for(1, 1'000'000'000'000), scenario_of, run);
  CHECK(result.interrupted);
  CHECK_FALSE(result.finding);
  CHECK(result.tally.seeds >= 1);
}

TEST_CASE("explore: it leaves no child behind") {
  explore(options_for(1, 10), scenario_of,
          [](const Scenario& scenario, RunOptions) { return bad_report(scenario, "page", 1); });
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("explore: the last seeds there are can be run") {
  const std::uint64_t last = ~std::uint64_t{0};
  const Exploration result = explore(options_for(last - 1, 2), scenario_of, [&](const Scenario& scenario, RunOptions) {
    return scenario.seed == last ? bad_report(scenario, "page", 1) : good_report(scenario);
  });
  REQUIRE(result.finding);
  CHECK(result.seed == last);
}

}  // namespace
}  // namespace baton::chaos
