// Cases of lives and time: ranks that are replaced, words that never come, and deadlines that end what is left.
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr RankId kPrefill{Role::prefill, 0};
constexpr RankId kDecode{Role::decode, 0};

std::uint32_t failures(const RunReport& report) {
  std::uint32_t failed = 0;
  for (const auto& [index, outcome] : report.outcomes) {
    failed += outcome.failure ? 1 : 0;
  }
  return failed;
}

// A rank is gone and back at the same place before anybody misses its heartbeat.
void replaced_between_heartbeats(RankId rank) {
  Scenario scenario = quiet_world();
  scenario.heartbeat = milliseconds(20);
  scenario.timed.push_back({Fault::crash, rank, {}, milliseconds(5), milliseconds(2)});
  add_client(scenario, milliseconds(1), 20, 4);
  add_client(scenario, microseconds(4900), 30, 20);
  for (std::uint32_t i = 0; i < 10; ++i) {
    add_client(scenario, milliseconds(8 + 5 * i), 20, 4);
  }
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).ok(), "the request before is served");
  expect(failures(report) <= 1, "at most the one that was under way fails");
}

void prefill_replaced() {
  replaced_between_heartbeats(kPrefill);
}

void decode_replaced() {
  replaced_between_heartbeats(kDecode);
}

// A rank sleeps so long that it is given up, and wakes. It must end, for only another instance is given work.
void given_up_rank_ends() {
  for (const RankId rank : {kPrefill, kDecode}) {
    Scenario scenario = quiet_world();
    scenario.heartbeat = milliseconds(10);
    scenario.timed.push_back({Fault::freeze, rank, {}, milliseconds(5), milliseconds(100)});
    add_client(scenario, milliseconds(1), 20, 4);
    add_client(scenario, milliseconds(200), 20, 4);
    expect(play(scenario).outcomes.at(1).ok(), "there is an instance to serve requests after it woke");
  }
}

// No leg ever hears of the request: the router ends it alone.
void silent_legs() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).time_limit = milliseconds(50);
  scenario.script.push_back({Traffic::job, 0, 0, Fault::control_lost});
  scenario.script.push_back({Traffic::job, 0, 1, Fault::control_lost});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).failure && report.outcomes.at(0).failure->code == Errc::timeout, "a timeout");
  expect(report.outcomes.at(0).gone == TimePoint(microseconds(50'100)), "at the deadline");
}

// Prefill waits for a landing of a decode rank that knows of nothing, and nobody calls the room off.
void prefill_waits_alone() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).time_limit = milliseconds(50);
  scenario.script.push_back({Traffic::job, 0, 1, Fault::control_lost});
  scenario.script.push_back({Traffic::cancel, 0, 0, Fault::control_lost});
  scenario.script.push_back({Traffic::cancel, 0, 1, Fault::control_lost});
  play(scenario);
}

// Decode generates for a client that left, and is not told.
void decode_runs_alone() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 64;
  scenario.timed.push_back({Fault::slow, kDecode, {}, microseconds(100), milliseconds(400)});
  add_client(scenario, microseconds(200), 20, 40).time_limit = milliseconds(50);
  scenario.script.push_back({Traffic::cancel, 0, 0, Fault::control_lost});
  scenario.script.push_back({Traffic::cancel, 0, 1, Fault::control_lost});
  play(scenario);
}

// The job of a landing is lost, and so is every word that the room is over.
void landing_without_a_job() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).time_limit = milliseconds(50);
  scenario.script.push_back({Traffic::job, 0, 0, Fault::control_lost});
  for (std::uint32_t nth = 0; nth < 4; ++nth) {
    scenario.script.push_back({Traffic::cancel, 0, nth, Fault::control_lost});
  }
  play(scenario);
}

// Both legs work on a request whose client has left.
void legs_are_told() {
  Scenario scenario = quiet_world();
  scenario.chunk_tokens = 8;
  add_client(scenario, microseconds(100), 60, 40).patience = milliseconds(1);
  add_client(scenario, microseconds(100), 8, 200).patience = milliseconds(4);
  play(scenario);
}

// The front stands still for some heartbeats. When it goes on, those of all ranks lie in its inbox.
void front_stands_still() {
  for (const int length : {15, 25, 32, 36, 39, 45, 300}) {
    Scenario scenario = quiet_world(2, 2);
    scenario.heartbeat = milliseconds(10);
    for (std::uint32_t i = 0; i < 8; ++i) {
      add_client(scenario, milliseconds(1 + 6 * i), 20, 40);
    }
    scenario.timed.push_back({Fault::freeze, {Role::router, 0}, {}, milliseconds(21), milliseconds(length)});
    expect(failures(play(scenario)) == 0, "nobody is taken for dead");
  }
}

// The last word of the hand-over and the word that the client has left reach decode in the same instant: it slept.
void abort_meets_verdict() {
  Scenario scenario = quiet_world();
  scenario.timed.push_back({Fault::freeze, kDecode, {}, microseconds(700), milliseconds(10)});
  add_client(scenario, microseconds(100), 12, 4).patience = milliseconds(2);
  scenario.script.push_back({Traffic::record, 0, 0, Fault::notice_delayed, milliseconds(1)});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).tokens.empty(), "the client has left before the first token");
}

}  // namespace

std::vector<NamedCase> lives_cases() {
  return {
      {"T11: a prefill rank replaced between two heartbeats costs at most one request", "sglang#34289",
       prefill_replaced},
      {"T11b: a decode rank replaced between two heartbeats costs at most one request", "sglang#34289",
       decode_replaced},
      {"T11c: a rank that was given up and wakes makes place for another", "sglang#34289", given_up_rank_ends},
      {"R8: a request whose legs are silent ends at its deadline", "sglang#9726", silent_legs},
      {"R9: prefill gives a room up at its deadline, though nobody calls it off", "sglang#28652", prefill_waits_alone},
      {"R10: decode stops at the deadline, though nobody calls the room off", "sglang#25561", decode_runs_alone},
      {"R11: a landing without a job is given back", "smg#2463", landing_without_a_job},
      {"R12: both legs of a request that ended are told", "sglang#19524", legs_are_told},
      {"R14: a front that stood still takes nobody for dead whose heartbeats wait in its inbox",
       "a router that was busy for a while", front_stands_still},
      {"R13: a request aborted as its hand-over completes does not run", "sglang#33507", abort_meets_verdict},
  };
}

}  // namespace baton::chaos
