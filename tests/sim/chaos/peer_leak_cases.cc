// Cases of leaks, aborts and pages with two owners, as users of other PD runtimes met them.
#include <set>

#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"
#include "tests/support/toy_world.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Pages for one request. Its client leaves while decode waits for the prompt, by word or without one; what lands late
// lands in quarantine, and then the next request has the pages.
void leaving_while_pages_arrive() {
  for (const bool vanishes : {false, true}) {
    Scenario scenario = quiet_world();
    scenario.decode_pages = 6;
    scenario.prefill_pages = 6;
    ClientPlan& leaver = add_client(scenario, microseconds(100), 20, 2);
    leaver.patience = microseconds(800);
    leaver.vanishes = vanishes;
    add_client(scenario, milliseconds(1), 20, 2).time_limit = milliseconds(1500);
    scenario.script.push_back({Traffic::write, 0, 0, Fault::write_late, milliseconds(30)});
    const RunReport report = play(scenario, {.keep_history = true});
    expect(report.outcomes.at(0).tokens.empty(), "the client left before its first token");
    expect(over_at(report, kDecode, 0) <= TimePoint(milliseconds(2)), "decode forgets the room at once");
    expect(over_at(report, kPrefill, 0) <= TimePoint(milliseconds(34)), "prefill when its write has ended");
    expect(report.outcomes.at(1).ok(), "the next request is served");
    expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(30)), "in pages that nobody writes any more");
  }
}

// A request that can never fit decode's pool: no rank ever hears of it.
void too_large_for_decode() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 8;
  add_client(scenario, microseconds(100), 20, 60);
  const RunReport report = play(scenario, {.keep_history = true});
  const ClientOutcome& large = report.outcomes.at(0);
  expect(large.failure && large.failure->code == Errc::too_large, "refused as too large");
  expect(large.gone == large.began, "at once");
  expect(over_at(report, kPrefill, 0) == kNever && over_at(report, kDecode, 0) == kNever, "and no leg had it");
}

// One leg refuses when the other one has the job: decode's queue is full, or prefill's pool is too small. (A grammar
// that only decode could refuse does not exist here.)
void refusal_frees_the_other_leg() {
  too_large_for_decode();

  Scenario scenario = quiet_world();
  scenario.decode_pages = 8;
  scenario.waiting_max = 1;
  for (int i = 0; i < 3; ++i) {
    add_client(scenario, microseconds(100 + 10 * i), 20, 10);
  }
  RunReport report = play(scenario, {.keep_history = true});
  const ClientOutcome& third = report.outcomes.at(2);
  expect(third.failure && third.failure->code == Errc::overloaded, "the third one finds decode's queue full");
  expect(third.failure->origin == "decode/0", "and hears who refused");
  expect(over_at(report, kPrefill, 2) <= TimePoint(microseconds(130)), "prefill hears of it at once");
  expect(report.outcomes.at(0).ok() && report.outcomes.at(1).ok(), "the two before it are served");

  scenario = quiet_world();
  scenario.prefill_pages = 8;
  add_client(scenario, microseconds(100), 60, 10);
  report = play(scenario, {.keep_history = true});
  const ClientOutcome& large = report.outcomes.at(0);
  expect(large.failure && large.failure->code == Errc::too_large, "prefill cannot hold the prompt");
  expect(large.failure->origin == "prefill/0", "and says so");
  expect(over_at(report, kDecode, 0) <= TimePoint(microseconds(130)), "decode's pages return at once");
}

// What clients call their requests is no name inside.
void odd_request_names() {
  test::ToyWorld world(test::small_node());
  const std::vector<std::string> names{"same",
                                       "same",
                                       "same",
                                       "",
                                       "\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\xa6\x8a",
                                       "-0",
                                       "../..",
                                       std::string(1024, 'x'),
                                       std::string("a\0b", 3)};
  std::vector<GenerationRequest> requests;
  for (std::size_t i = 0; i < names.size(); ++i) {
    requests.push_back(world.request(20, 6, i));
    requests.back().client_id = names[i];
  }
  const std::vector<test::Outcome> outcomes = run_all(world, requests);
  for (std::size_t i = 0; i < names.size(); ++i) {
    expect(outcomes[i].ok(), "the request is served, whatever its name");
    expect(outcomes[i].tokens == world.reference(requests[i]), "and gets its own tokens");
  }
  expect(world.drained_after_run, "nothing is left of any");
}

// Here prefill writes and decode offers, so what may expire is the offer: the landing reaches prefill after the
// request's deadline, or there is no job for it at all. Decode's word that it takes the offer back is lost; it hears
// that nobody will write, prefill computes nothing, and the pages' next owner finds its own bytes.
void late_offer_is_refused() {
  for (const bool job_lost : {false, true}) {
    Scenario scenario = quiet_world();
    scenario.decode_pages = 6;
    add_client(scenario, microseconds(100), 20, 2).time_limit = milliseconds(40);
    add_client(scenario, milliseconds(20), 20, 2).time_limit = milliseconds(900);
    scenario.script.push_back({Traffic::answer, 0, 0, Fault::notice_lost, {}});
    if (job_lost) {
      scenario.script.push_back({Traffic::job, 0, 0, Fault::control_lost, {}});
    } else {
      scenario.script.push_back({Traffic::landing, 0, 0, Fault::control_overtaken, milliseconds(60)});
    }
    const RunReport report = play(scenario, {.keep_history = true});
    const ClientOutcome& late = report.outcomes.at(0);
    expect(late.failure && late.failure->code == Errc::timeout, "the first request runs out of time");
    expect(events_of(report, kPrefill, "computed", 0).empty(), "nobody computes its prompt");
    expect(report.outcomes.at(1).ok(), "the second one has the pages then");
    expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(40)), "and not before");
  }
}

// Clients leave in the middle of slow writes, and others want the same few pages at once.
void reuse_pressure_under_late_writes() {
  for (std::uint32_t round = 0; round < 6; ++round) {
    Scenario scenario = quiet_world();
    scenario.seed = round + 1;
    scenario.decode_pages = 14;
    scenario.prefill_pages = 20;
    for (std::uint32_t i = 0; i < 16; ++i) {
      ClientPlan& plan = add_client(scenario, microseconds(100 + 150 * i), 12 + 3 * (i % 5), 4);
      if (i % 2 == 0) {
        plan.patience = microseconds(300 + 170 * round + 40 * i);
        plan.vanishes = i % 4 == 0;
        scenario.script.push_back({Traffic::write, i, 0, Fault::write_late, milliseconds(2 + 3 * (i % 3))});
      }
    }
    const RunReport report = play(scenario);
    for (std::uint32_t i = 1; i < 16; i += 2) {
      expect(report.outcomes.at(i).ok(), "who stays is served, and with the right tokens");
    }
  }
}

}  // namespace

std::vector<NamedCase> peer_leak_cases() {
  return {
      {"P6: a client that leaves while decode waits for its prompt leaves no page behind", "vllm#46283",
       leaving_while_pages_arrive},
      {"P7: a refusal by one leg frees the other at once", "vllm#41269", refusal_frees_the_other_leg},
      {"P8: the names that clients give their requests mean nothing inside", "vllm#36958", odd_request_names},
      {"P9: an offer of pages that comes too late is refused, and nobody reads or writes them", "vllm#21570",
       late_offer_is_refused},
      {"P10: pages under late writes are not given to those who wait for them", "sglang#35049",
       reuse_pressure_under_late_writes},
  };
}

}  // namespace baton::chaos
