// Worlds as a whole: the same scenario gives the same events, and what the profiles promise is drawn.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "sim/chaos/profile.h"
#include "sim/chaos/run.h"

using namespace baton;
using namespace baton::chaos;

TEST_CASE("World: the same seed gives the same events to the byte, another one others") {
  std::set<std::uint64_t> digests;
  for (const Profile& profile : profiles()) {
    CAPTURE(std::string(profile.name));
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(seed);
      const RunReport first = run_scenario(draw_scenario(profile, seed));
      const RunReport second = run_scenario(draw_scenario(profile, seed));
      CHECK(first.digest == second.digest);
      CHECK(first.events == second.events);
      CHECK(first.events > 100);
      digests.insert(first.digest);
    }
  }
  CHECK(digests.size() > 30);
}

TEST_CASE("World: a few dozen seeds of every profile break no rule, and meet the faults that it is named for") {
  for (const Profile& profile : profiles()) {
    std::array<std::uint64_t, kFaults> faults{};
    std::uint32_t finished = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(std::string(profile.name));
      CAPTURE(seed);
      const RunReport report = run_scenario(draw_scenario(profile, seed));
      CHECK_MESSAGE(!report.violation,
                    (report.violation ? report.violation->rule + ": " + report.violation->message : ""));
      finished += report.finished;
      for (std::size_t i = 0; i < kFaults; ++i) {
        faults[i] += report.faults[i];
      }
    }
    const auto met = [&](Fault fault) { return faults[static_cast<std::size_t>(fault)] > 0; };
    const std::string_view name = profile.name;
    CHECK(finished > 200);
    CHECK((name == "calm") == std::ranges::all_of(faults, [](auto count) { return count == 0; }));
    CHECK((name != "network" || (met(Fault::control_lost) && met(Fault::notice_lost) && met(Fault::record_torn))));
    CHECK((name != "writes" || (met(Fault::write_failed) && met(Fault::write_late) && met(Fault::write_torn))));
    CHECK((name != "crashes" || (met(Fault::crash) && met(Fault::freeze) && met(Fault::partition))));
    CHECK((name != "clients" || (met(Fault::client_abort) && met(Fault::client_vanished))));
    CHECK((name != "scarcity" || (met(Fault::slow) && met(Fault::step_failed))));
  }
}

TEST_CASE("World: requests are retracted, and steps planned, in all the ways there are") {
  std::array<std::size_t, 8> retractions{};
  const RunOptions keeping{.keep_history = true};
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Scenario scenario = draw_scenario(find_profile("scarcity").value(), seed);
    const RunReport report = run_scenario(scenario, keeping);
    const std::size_t way =
        (scenario.recompute ? 1 : 0) + (scenario.latest_first ? 2 : 0) + (scenario.plan_ahead ? 4 : 0);
    retractions[way] += static_cast<std::size_t>(std::ranges::count_if(
        report.history, [](const TraceEvent& event) { return event.name == std::string_view("retracted"); }));
  }
  for (const std::size_t count : retractions) {
    CHECK(count > 0);
  }
}

TEST_CASE("World: no pair of state and event is reached that is said to be impossible") {
  Coverage coverage;
  for (const char* name : {"all", "crashes", "network", "scarcity", "clients"}) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      coverage |= run_scenario(draw_scenario(find_profile(name).value(), seed)).coverage;
    }
  }
  for (const CoverageCell& cell : coverage_cells()) {
    INFO(std::string(cell.machine) << ", " << cell.state << ", " << cell.event);
    CHECK((cell.why_not == nullptr || !coverage.reached[cell.index]));
  }
  CHECK(coverage.reached.count() > 90);
}

TEST_CASE("World: a kind of fault that is left out does not happen") {
  for (std::size_t i = 0; i < kFaults; ++i) {
    Profile profile = find_profile("all").value();
    profile.without = {static_cast<Fault>(i)};
    CAPTURE(std::string(to_string(static_cast<Fault>(i))));
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      CHECK(run_scenario(draw_scenario(profile, seed)).faults[i] == 0);
    }
  }
}

TEST_CASE("World: ranks that are stopped with landings under way between them end all the same") {
  for (std::uint64_t seed = 8; seed <= 160; seed += 8) {  // those that end in an orderly way with requests under way
    for (const int latency : {100, 200, 300, 400}) {
      CAPTURE(seed);
      CAPTURE(latency);
      Scenario scenario;
      scenario.seed = seed;
      scenario.latency = std::chrono::microseconds(latency);
      scenario.heartbeat = Duration{0};  // or the silence of those that ended would free the pages
      const RunReport report = run_scenario(scenario);
      CHECK_MESSAGE(!report.violation, (report.violation ? report.violation->rule : ""));
      CHECK(report.virtual_time < std::chrono::seconds(5));
    }
  }
}
