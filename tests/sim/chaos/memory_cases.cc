// Cases of memory that is written from afar: whose it is, and until when.
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Two requests, pages for one of them. The first one's write is slow and its client leaves; the second one wants the
// pages at once.
Scenario one_leaves_one_waits(Duration patience) {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 6;
  add_client(scenario, microseconds(100), 20, 2).patience = patience;
  add_client(scenario, microseconds(200), 20, 2);
  return scenario;
}

void page_waits_for_aborted_write() {
  Scenario scenario = one_leaves_one_waits(microseconds(700));
  scenario.script.push_back({Traffic::write, 0, 0, Fault::write_late, milliseconds(40)});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(1).ok(), "the second request is served");
  expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(40)), "not before the late write has landed");
}

// Decode hears of the end from its sender only, which says "failed" while it still writes.
void page_waits_for_failed_senders_write() {
  Scenario scenario = one_leaves_one_waits(microseconds(700));
  scenario.script.push_back({Traffic::write, 0, 0, Fault::write_late, milliseconds(40)});
  scenario.script.push_back({Traffic::cancel, 0, 1, Fault::control_lost, {}});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(1).ok(), "the second request is served");
  expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(40)), "not before the late write has landed");
}

// The landing is slow and its client leaves. Prefill says that it will not write, and keeps to it, although every
// cancel that was meant for it is lost.
void closed_room_is_not_opened() {
  Scenario scenario = one_leaves_one_waits(milliseconds(1));
  scenario.script.push_back({Traffic::landing, 0, 0, Fault::control_overtaken, milliseconds(3)});
  for (const std::uint32_t to_prefill : {0U, 2U}) {  // the router's, decode's
    scenario.script.push_back({Traffic::cancel, 0, to_prefill, Fault::control_lost, {}});
  }
  const RunReport report = play(scenario);
  expect(report.outcomes.at(1).ok(), "the second request is served");
}

// A rank falls silent with a write under way and is given up; its pages return while the write goes on.
void silent_writer_is_shut_out() {
  Scenario scenario = quiet_world(2, 1);
  scenario.decode_pages = 12;
  scenario.heartbeat = milliseconds(5);
  add_client(scenario, milliseconds(2), 20, 2);
  add_client(scenario, milliseconds(2), 20, 2);
  scenario.script.push_back({Traffic::write, 0, 0, Fault::write_late, milliseconds(60)});
  scenario.script.push_back({Traffic::write, 1, 0, Fault::write_late, milliseconds(60)});
  scenario.timed.push_back({Fault::freeze, {Role::prefill, 0}, {}, microseconds(2500), milliseconds(100)});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).gone < TimePoint(milliseconds(40)) ||
             report.outcomes.at(1).gone < TimePoint(milliseconds(40)),
         "the silent rank's request ends when the rank is given up");
}

// Pages for three at a time, ten requests: every page goes through several hands.
void pages_have_one_owner() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 18;
  for (std::uint32_t i = 0; i < 10; ++i) {
    add_client(scenario, microseconds(100 + 50 * i), 20, 4);
  }
  const RunReport report = play(scenario);
  for (const auto& [index, outcome] : report.outcomes) {
    expect(outcome.ok(), "every request is served");
  }
}

}  // namespace

std::vector<NamedCase> memory_cases() {
  return {
      {"T1: a page is not given out again while an aborted request's write may land", "sglang#24527",
       page_waits_for_aborted_write},
      {"M5: nor while a sender that has failed may still write", "sglang#24527", page_waits_for_failed_senders_write},
      {"M6: a room that was closed before its landing came is never written", "sglang#24527",
       closed_room_is_not_opened},
      {"M7: a rank that is given up cannot write any more", "sglang#24527", silent_writer_is_shut_out},
      {"M8: a page has one owner at a time", "sglang#24527", pages_have_one_owner},
  };
}

}  // namespace baton::chaos
