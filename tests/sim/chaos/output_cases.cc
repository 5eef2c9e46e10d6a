// Cases of what the client reads: every token once, in order, up to the right end.
#include <string_view>

#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::uint32_t count(const RunReport& report, std::string_view what) {
  std::uint32_t found = 0;
  for (const TraceEvent& event : report.history) {
    found += event.name == what ? 1 : 0;
  }
  return found;
}

// A request that is put aside every few tokens, with pages handed over through memory apart and in shared memory.
void retracted_request_continues() {
  for (const bool copying : {true, false}) {
    Scenario scenario = quiet_world();
    scenario.copying = copying;
    scenario.retract_every = 3;
    add_client(scenario, microseconds(100), 21, 20);
    add_client(scenario, microseconds(100), 10, 20);
    const RunReport report = play(scenario, {.keep_history = true});
    expect(report.outcomes.at(0).ok() && report.outcomes.at(1).ok(), "both requests are served");
    expect(count(report, "on resume") >= 4, "requests were put aside and returned");
    expect(count(report, "on admitted") == 2 + 4, "without a second hand-over");
  }
}

// The first token is the last: by its number, and because it is a stop token.
void first_token_is_the_last() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 1);
  add_client(scenario, microseconds(100), 20, 8).stop_after = 1;
  const RunReport report = play(scenario, {.keep_history = true});
  expect(report.outcomes.at(0).ok() && report.outcomes.at(0).tokens.size() == 1, "one token, the most allowed");
  expect(report.outcomes.at(0).reason == FinishReason::length, "ended by its length");
  expect(report.outcomes.at(1).ok() && report.outcomes.at(1).tokens.empty(), "a stop token is not shown");
  expect(report.outcomes.at(1).reason == FinishReason::stop, "ended by the stop token");
}

// Tokens of one request arrive twice, the second time at once or after others.
void events_come_twice() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 8);
  scenario.script.push_back({Traffic::room_events, 0, 0, Fault::control_duplicated, Duration{0}});
  scenario.script.push_back({Traffic::room_events, 0, 2, Fault::control_duplicated, microseconds(500)});
  expect(play(scenario).outcomes.at(0).ok(), "the request is served");
}

// A message with tokens is overtaken by the next ones.
void events_come_late() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 8);
  scenario.script.push_back({Traffic::room_events, 0, 2, Fault::control_overtaken, milliseconds(1)});
  expect(play(scenario).outcomes.at(0).ok(), "the request is served");
}

// A chunk ends in the middle of the prompt's last page.
void chunk_ends_inside_a_page() {
  Scenario scenario = quiet_world();
  scenario.chunk_tokens = 15;
  add_client(scenario, microseconds(100), 31, 4);
  expect(play(scenario).outcomes.at(0).ok(), "the request is served");
}

}  // namespace

std::vector<NamedCase> output_cases() {
  return {
      {"T9: a retracted request continues at the right token, without a second hand-over", "sglang#6857",
       retracted_request_continues},
      {"T14: a request whose first token is its last ends with it", "sglang#12151", first_token_is_the_last},
      {"R1: tokens that arrive twice are shown once", "a router that hears a message twice", events_come_twice},
      {"R2: tokens that are overtaken are shown in order", "a router that hears messages out of order",
       events_come_late},
      {"R3: a page is sent when its last position is computed", "sglang#31368", chunk_ends_inside_a_page},
  };
}

}  // namespace baton::chaos
