// Cases of hangs and lost signals, as users of other PD runtimes met them.
#include "sim/chaos/fault.h"
#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::uint64_t injected(const RunReport& report, Fault fault) {
  return report.faults[static_cast<std::size_t>(fault)];
}

// Data and "done" are messages of their own; each of them is lost once, in a world of its own.
void one_lost_completion_heals() {
  for (const Traffic traffic : {Traffic::written, Traffic::record, Traffic::answer}) {
    Scenario scenario = quiet_world();
    add_client(scenario, microseconds(100), 40, 6).time_limit = seconds(60);
    scenario.script.push_back({traffic, 0, 0, Fault::notice_lost, {}});
    const RunReport report = play(scenario);
    expect(injected(report, Fault::notice_lost) == 1, std::string(to_string(traffic)) + " is sent and lost");
    expect(report.outcomes.at(0).ok(), std::string("served though one is lost: ") + to_string(traffic));
  }
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 40, 6).time_limit = seconds(60);
  scenario.script.push_back({Traffic::write, 0, 0, Fault::write_unheard, {}});
  const RunReport report = play(scenario);
  expect(injected(report, Fault::write_unheard) == 1, "a write's notice is lost");
  expect(report.outcomes.at(0).ok(), "served though the target heard nothing of a write");
}

// Prefill's pool is full of prompts whose decode rank is gone, and nobody asks for anything else. First without
// heartbeats or a word of the router's, when only deadlines can help; then with them, long before any deadline.
void full_pool_empties_without_new_work() {
  for (const bool heartbeats : {false, true}) {
    Scenario scenario = quiet_world();
    scenario.heartbeat = heartbeats ? milliseconds(10) : Duration{0};
    scenario.prefill_pages = 30;
    for (int i = 0; i < 6; ++i) {
      ClientPlan& plan = add_client(scenario, milliseconds(20) + microseconds(10 * i), 20, 4);
      plan.time_limit = heartbeats ? Duration(seconds(30)) : Duration(milliseconds(60));
      if (!heartbeats) {
        scenario.script.push_back({Traffic::cancel, plan.index, 0, Fault::control_lost, {}});
      }
    }
    const Fault how = heartbeats ? Fault::crash : Fault::freeze;
    scenario.timed.push_back({how, kDecode, {}, milliseconds(20) + microseconds(300), seconds(3)});
    const RunReport report = play(scenario, {.keep_history = true});
    for (std::uint32_t i = 0; i < 6; ++i) {
      const ClientOutcome& outcome = report.outcomes.at(i);
      expect(outcome.failure.has_value(), "nobody is served by a rank that is gone");
      expect((outcome.failure->code == Errc::timeout) == !heartbeats, "early by its loss, else by the deadline");
      expect(over_at(report, kPrefill, i) <= TimePoint(milliseconds(120)), "its pages at prefill do not wait for work");
    }
  }
}

// There are no groups of ranks yet, so the next best: of several requests that share both ranks, one's transfer never
// finishes. The others do not wait for it.
void stuck_transfer_is_alone() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 40, 8).time_limit = milliseconds(200);
  for (int i = 1; i < 6; ++i) {
    add_client(scenario, microseconds(100 + i), 40, 8).time_limit = milliseconds(200);
  }
  scenario.script.push_back({Traffic::write, 0, 0, Fault::write_late, milliseconds(900)});
  scenario.delay_max = milliseconds(900);  // so long may prefill hold what it still writes
  const RunReport report = play(scenario, {.keep_history = true});
  const ClientOutcome& stuck = report.outcomes.at(0);
  expect(stuck.failure && stuck.failure->code == Errc::timeout, "the stuck one ends by its deadline");
  expect(over_at(report, kDecode, 0) <= TimePoint(milliseconds(250)), "and leaves the decode rank with it");
  for (std::uint32_t i = 1; i < 6; ++i) {
    expect(report.outcomes.at(i).ok(), "its neighbours are served");
    expect(report.outcomes.at(i).gone < TimePoint(milliseconds(40)), "as if it were not there");
  }
}

// Nobody asks for a while, and all ways are cut silently meanwhile; ranks and router take each other for dead. The
// first request after that is served.
void first_request_after_silent_cut() {
  Scenario scenario = quiet_world(2, 2);
  scenario.heartbeat = milliseconds(20);
  add_client(scenario, milliseconds(5), 20, 4);
  const RankId router{Role::router, 0};
  for (const RankId rank : {kPrefill, RankId{Role::prefill, 1}, kDecode, RankId{Role::decode, 1}}) {
    scenario.timed.push_back({Fault::partition, rank, router, milliseconds(50), milliseconds(700)});
    scenario.timed.push_back({Fault::partition, router, rank, milliseconds(50), milliseconds(700)});
  }
  add_client(scenario, milliseconds(900), 20, 4);
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).ok(), "the request before the cut is served");
  expect(report.outcomes.at(1).ok(), "the first one after it too");
}

// 200 requests while decode ranks die, freeze and return.
void churn_leaves_nobody_waiting() {
  Scenario scenario = quiet_world(2, 3);
  scenario.heartbeat = milliseconds(10);
  scenario.open_max = 256;
  scenario.waiting_max = 256;
  scenario.rooms_max = 256;
  for (std::uint32_t i = 0; i < 200; ++i) {
    ClientPlan& plan = add_client(scenario, milliseconds(1) + microseconds(i * 1500), 8 + (i * 7) % 40, 2 + i % 12);
    plan.time_limit = milliseconds(400);
  }
  for (std::uint32_t i = 0; i < 12; ++i) {
    const Fault how = i % 3 == 2 ? Fault::freeze : Fault::crash;
    const RankId rank{Role::decode, i % 3 == 2 ? 1U : i % 2 * 2};
    scenario.timed.push_back({how, rank, {}, milliseconds(10 + 25 * i), milliseconds(i % 4 == 0 ? 120 : 8)});
  }
  const RunReport report = play(scenario);
  std::uint32_t finished = 0;
  std::uint32_t failed = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    finished += report.outcomes.at(i).ok() ? 1 : 0;
    failed += report.outcomes.at(i).failure ? 1 : 0;
  }
  expect(finished + failed == 200, "every request has its end");
  expect(finished > 100, "most of them a good one");
  expect(failed > 0, "those that were with a dead rank an error");
}

}  // namespace

std::vector<NamedCase> peer_wait_cases() {
  return {
      {"P1: a completion message that is lost alone costs nobody the request", "TensorRT-LLM#17665",
       one_lost_completion_heals},
      {"P2: pages of transfers whose target is gone return without any new work", "TensorRT-LLM#12313",
       full_pool_empties_without_new_work},
      {"P3: a transfer that never finishes holds up nobody else", "TensorRT-LLM#12471", stuck_transfer_is_alone},
      {"P4: the first request after an idle time with all ways cut is served", "sglang#9926",
       first_request_after_silent_cut},
      {"P5: every request ends while decode ranks die and return", "dynamo#13088", churn_leaves_nobody_waiting},
  };
}

}  // namespace baton::chaos
