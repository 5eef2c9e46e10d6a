// Cases of memory that is written from afar: whose it is, and until when.
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Two requests, pages for one of them. The first one's write is slow and its client leaves; the second one wants the
// pages at once.
void page_waits_for_aborted_write() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 6;
  add_client(scenario, microseconds(100), 20, 2).patience = microseconds(700);
  add_client(scenario, microseconds(200), 20, 2);
  scenario.script.push_back({Traffic::write, 0, 0, Fault::write_late, milliseconds(40)});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(1).ok(), "the second request is served");
  expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(40)), "not before the late write has landed");
}

}  // namespace

std::vector<NamedCase> memory_cases() {
  return {
      {"T1: a page is not given out again while an aborted request's write may land", "sglang#24527",
       page_waits_for_aborted_write},
  };
}

}  // namespace baton::chaos
