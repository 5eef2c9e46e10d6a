#include "sim/explorer/forked.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "runtime/trace.h"
#include "sim/explorer/replay.h"
#include "sim/explorer/trial.h"
#include "tests/sim/explorer/fake_world.h"

namespace baton::chaos {
namespace {

using How = ForkedEnd::How;
constexpr auto kLong = std::chrono::seconds(60);

TEST_CASE("run_forked: the parts come back as they were, also large and empty ones") {
  const std::string large(3'000'000, 'x');
  const std::string zeros("a\0b", 3);
  const ForkedEnd end = run_forked([&] { return std::vector<std::string>{"", large, zeros, ""}; }, kLong);
  REQUIRE(end.how == How::returned);
  CHECK(end.parts == std::vector<std::string>{"", large, zeros, ""});
}

TEST_CASE("run_forked: what ends the child is told") {
  const ForkedEnd thrown = run_forked([]() -> std::vector<std::string> { throw std::runtime_error("no"); }, kLong);
  CHECK(thrown.how == How::died);
  CHECK(thrown.cause == "exception: no");

  const ForkedEnd aborted = run_forked([]() -> std::vector<std::string> { std::abort(); }, kLong);
  CHECK(aborted.how == How::died);
  CHECK(aborted.place == "signal 6 (Aborted)");

  const ForkedEnd endless = run_forked([]() -> std::vector<std::string> { hang(); }, std::chrono::milliseconds(50));
  CHECK(endless.how == How::timed_out);
}

TEST_CASE("explain_death: one place for one check, whatever its values") {
  const Death death = explain_death(6, "noise\nbaton: check failed: a < b [a] = 7 at src/x.cc:12\nmore\n");
  CHECK(death.cause == "baton: check failed: a < b [a] = 7 at src/x.cc:12");
  CHECK(death.place == "src/x.cc:12");
  CHECK(explain_death(6, "==1==ERROR: AddressSanitizer: heap-use-after-free on 0x1\n  #0\n").place ==
        "ERROR: AddressSanitizer");
}

TEST_CASE("try_scenario: a violation comes back with its request and the keys of its faults") {
  const auto run = [](const Scenario& scenario, RunOptions) {
    RunReport report = bad_report(scenario, "page", 7);
    for (const std::uint64_t key : {9ULL, 0ULL, 4ULL, 9ULL}) {
      InjectedFault fault;
      fault.key = key;
      report.injected.push_back(fault);
    }
    return report;
  };
  const Trial trial = try_scenario(run, scenario_of(5), kLong);
  REQUIRE(trial.finding);
  CHECK(trial.finding->rule == "page");
  CHECK(trial.finding->request == 7);
  CHECK(trial.digest == 15);
  CHECK(trial.injected == std::vector<std::uint64_t>{4, 9});
  CHECK_FALSE(
      try_scenario([](const Scenario& scenario, RunOptions) { return good_report(scenario); }, scenario_of(5), kLong)
          .finding);
}

TEST_CASE("replay: the timeline is of the request in question") {
  const auto run = [](const Scenario& scenario, RunOptions options) {
    RunReport report = bad_report(scenario, "page", 7);
    if (options.keep_history) {
      report.rooms = {{100, 7}, {200, 8}};
      report.history.push_back({TimePoint{}, "job", {Role::prefill, 0}, TraceEvent::Phase::instant, 100, 1, 2});
      report.history.push_back({TimePoint{}, "landing", {Role::prefill, 0}, TraceEvent::Phase::instant, 200, 1, 2});
    }
    return report;
  };
  ReplayOptions options;
  Replay found = replay(scenario_of(1), run, options);
  REQUIRE(found.finding);
  CHECK(found.request == 7);
  CHECK(found.timeline.find("job") != std::string::npos);
  CHECK(found.timeline.find("landing") == std::string::npos);
  CHECK(found.rendered.empty());
  options.request = 8;
  options.render = trace_json;
  found = replay(scenario_of(1), run, options);
  CHECK(found.request == 8);
  CHECK(found.timeline.find("landing") != std::string::npos);
  CHECK(found.rendered.find("traceEvents") != std::string::npos);
}

TEST_CASE("replay: a process that dies is a finding without a timeline") {
  const auto run = [](const Scenario& scenario, RunOptions) -> RunReport {
    BATON_CHECK(scenario.seed == 0);
    return {};
  };
  const Replay found = replay(scenario_of(1), run, {});
  REQUIRE(found.finding);
  CHECK(found.finding->rule == kAbortRule);
  CHECK(found.timeline.empty());
}

}  // namespace
}  // namespace baton::chaos
