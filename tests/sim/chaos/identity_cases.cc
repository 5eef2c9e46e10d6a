// Cases of who is meant: one room a sample, taken once, and not taken any more after it was called off.
#include <set>
#include <string_view>

#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How often something was noted of the rooms of a request.
std::uint32_t count(const RunReport& report, std::string_view what, Role role, std::uint32_t request) {
  std::uint32_t found = 0;
  for (const TraceEvent& event : report.history) {
    for (const auto& [room, owner] : report.rooms) {
      found += event.name == what && event.rank.role == role && event.id == room && owner == request ? 1 : 0;
    }
  }
  return found;
}

// The client leaves while one leg has not heard of the request yet: its job is still on the way.
void abort_before_the_job(std::uint32_t job, Role role) {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).patience = milliseconds(1);
  add_client(scenario, milliseconds(20), 20, 4);
  scenario.script.push_back({Traffic::job, 0, job, Fault::control_overtaken, milliseconds(10)});
  const RunReport report = play(scenario, {.keep_history = true});
  expect(report.outcomes.at(0).ended, "the aborted request has its one end");
  expect(report.outcomes.at(1).ok(), "the other request is served");
  expect(count(report, "on job", role, 0) == 1, "the late job did come");
  expect(count(report, role == Role::prefill ? "bootstrap" : "prealloc", role, 0) == 0, "and nobody took it up");
}

void abort_before_the_job_at_prefill() {
  abort_before_the_job(0, Role::prefill);
}

void abort_before_the_job_at_decode() {
  abort_before_the_job(1, Role::decode);
}

// Prefill has the job and no landing yet; the landing comes when the request has been called off.
void abort_before_the_landing() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).patience = milliseconds(1);
  scenario.script.push_back({Traffic::landing, 0, 0, Fault::control_overtaken, milliseconds(10)});
  const RunReport report = play(scenario, {.keep_history = true});
  expect(report.outcomes.at(0).tokens.empty(), "no token");
  expect(count(report, "computed", Role::prefill, 0) == 0, "nothing is computed for it");
}

// Two prompts, three samples each, all at once.
void every_sample_has_a_room() {
  Scenario scenario = quiet_world(2, 2);
  scenario.routers = 2;
  for (std::uint32_t i = 0; i < 6; ++i) {
    add_client(scenario, microseconds(100), 12 + i / 3, 5).router = i / 3;
  }
  const RunReport report = play(scenario, {.keep_history = true});
  std::set<std::uint64_t> rooms;
  std::set<std::uint32_t> owners;
  for (const auto& [room, request] : report.rooms) {
    if (request < 6) {
      expect(rooms.insert(room).second, "no room belongs to two samples");
      expect(owners.insert(request).second, "no sample has two rooms");
    }
  }
  expect(owners.size() == 6 && report.finished == 6 + 4, "all six, and the world's last four, end well");
}

// The same job reaches a rank twice: while its room is open, and when it is over.
void job_comes_twice(std::uint32_t job, Role role, Duration between) {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4);
  add_client(scenario, 2 * between, 20, 4);
  scenario.script.push_back({Traffic::job, 0, job, Fault::control_duplicated, between});
  const RunReport report = play(scenario, {.keep_history = true});
  expect(report.outcomes.at(0).ok() && report.outcomes.at(1).ok(), "both requests are served");
  expect(count(report, "on job", role, 0) == 2, "the job came twice");
  expect(count(report, "over", role, 0) == 1, "one room came of it");
}

void job_comes_twice_while_open() {
  job_comes_twice(0, Role::prefill, microseconds(50));
  job_comes_twice(1, Role::decode, microseconds(50));
}

void job_comes_twice_after_the_end() {
  job_comes_twice(0, Role::prefill, milliseconds(50));
  job_comes_twice(1, Role::decode, milliseconds(50));
}

}  // namespace

std::vector<NamedCase> identity_cases() {
  return {
      {"T7: a request aborted before prefill has its job ends once and is not taken up later", "sglang#29834",
       abort_before_the_job_at_prefill},
      {"T7b: a request aborted before decode has its job ends once and is not taken up later", "sglang#29834",
       abort_before_the_job_at_decode},
      {"T7c: a request aborted before its landing comes is not computed", "sglang#29834", abort_before_the_landing},
      {"T12: samples of one prompt, side by side, have a room and a result each", "sglang#26486",
       every_sample_has_a_room},
      {"T13: a room that is open is not opened again by the same job", "sglang#40125", job_comes_twice_while_open},
      {"T13b: a room that is over is not opened again by the same job", "sglang#40125", job_comes_twice_after_the_end},
  };
}

}  // namespace baton::chaos
