// Cases of places and pages: who waits, who is put aside, who leaves, and that nobody else does.
#include <string_view>

#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Short and long requests in a tight pool; some leave while they wait, some while they run.
void only_the_aborted_leave() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 18;
  scenario.prefill_pages = 12;
  for (std::uint32_t i = 0; i < 12; ++i) {
    ClientPlan& client = add_client(scenario, microseconds(100 + 10 * i), i % 2 == 0 ? 30 : 5, 4 + i % 5);
    if (i % 3 == 1) {
      client.patience = microseconds(300 + 400 * i);
      client.vanishes = i % 2 == 0;
    }
  }
  const RunReport report = play(scenario);
  for (std::uint32_t i = 0; i < 12; ++i) {
    expect(report.outcomes.at(i).ok() || i % 3 == 1, "request " + std::to_string(i) + " is served");
  }
  expect(report.faults[static_cast<std::size_t>(Fault::client_abort)] == 2, "two asked to end");
  expect(report.faults[static_cast<std::size_t>(Fault::client_vanished)] == 2, "two went away");
}

// The client leaves in the middle of a step, of the rank that computes the prompt and of the one that generates.
void abort_during(RankId rank, Duration patience) {
  Scenario scenario = quiet_world();
  scenario.timed.push_back({Fault::slow, rank, {}, microseconds(100), milliseconds(100)});
  add_client(scenario, microseconds(200), 12, 8).patience = patience;
  const RunReport report = play(scenario, {.keep_history = true});
  expect(report.outcomes.at(0).gone < TimePoint(microseconds(300)) + patience, "the client does not wait");
  for (const TraceEvent& event : report.history) {
    expect(event.name != std::string_view("on step failed"), "the step has all its pages");
  }
}

void abort_during_prefill_step() {
  abort_during({Role::prefill, 0}, milliseconds(4));
}

void abort_during_decode_step() {
  abort_during({Role::decode, 0}, milliseconds(4));
}

// Two requests grow in a pool that holds one and a half.
void pages_run_out() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 12;
  scenario.lookahead_tokens = 0;
  add_client(scenario, microseconds(100), 16, 28);
  add_client(scenario, microseconds(100), 16, 28);
  const RunReport report = play(scenario, {.keep_history = true});
  bool retracted = false;
  for (const TraceEvent& event : report.history) {
    retracted = retracted || event.name == std::string_view("on retract");
  }
  expect(retracted, "one of them gave its pages back");
  expect(report.outcomes.at(0).ok() && report.outcomes.at(1).ok(), "both are served in the end");
}

// The same, while small requests come all the time: each of them would fit.
void retracted_comes_first() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 12;
  scenario.lookahead_tokens = 0;
  add_client(scenario, microseconds(100), 16, 28);
  add_client(scenario, microseconds(100), 16, 28);
  for (std::uint32_t i = 0; i < 40; ++i) {
    add_client(scenario, milliseconds(2) + microseconds(300 * i), 8, 4);
  }
  const RunReport report = play(scenario);
  const TimePoint last = report.outcomes.at(41).gone;
  expect(report.outcomes.at(0).gone < last && report.outcomes.at(1).gone < last, "nobody is overtaken for ever");
}

}  // namespace

std::vector<NamedCase> admission_cases() {
  return {
      {"T15: of many requests in a tight pool exactly the aborted ones leave", "sglang#25060", only_the_aborted_leave},
      {"R4: a request aborted during its prefill step keeps its pages until the step is over", "sglang#17850",
       abort_during_prefill_step},
      {"R5: a request aborted during its decode step keeps its pages until the step is over", "sglang#17850",
       abort_during_decode_step},
      {"R6: when pages run out somebody gives theirs back, and all are served", "sglang#14948", pages_run_out},
      {"R7: new requests do not overtake a retracted one", "sglang#33794", retracted_comes_first},
  };
}

}  // namespace baton::chaos
