// Cases of how requests end when they cannot go on: soon, with a cause, and without holding up others.
#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Decode could hold the prompt, prefill cannot.
void too_long_for_prefill() {
  Scenario scenario = quiet_world();
  scenario.prefill_pages = 8;
  scenario.decode_pages = 64;
  add_client(scenario, microseconds(100), 60, 4);
  add_client(scenario, microseconds(100), 16, 4);
  const RunReport report = play(scenario);
  const ClientOutcome& refused = report.outcomes.at(0);
  expect(refused.failure && refused.failure->code == Errc::too_large, "it is refused as too large");
  expect(refused.tokens.empty(), "without a token");
  expect(refused.gone < TimePoint(milliseconds(1)), "at once");
  expect(report.outcomes.at(1).ok(), "the next one is served");
}

// Decode has no pages until after the second request's deadline, and nobody's word that it has passed reaches it.
void full_decode_ends_its_queue() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 30;
  add_client(scenario, microseconds(100), 20, 100);
  ClientPlan& waiting = add_client(scenario, microseconds(200), 100, 4);
  waiting.time_limit = milliseconds(5);
  for (const std::uint32_t cancel : {0U, 1U}) {
    scenario.script.push_back({Traffic::cancel, 1, cancel, Fault::control_lost, {}});
  }
  scenario.script.push_back({Traffic::leg_failed, 1, 0, Fault::control_lost, {}});  // prefill's
  const RunReport report = play(scenario, RunOptions{true, nullptr});
  expect(report.outcomes.at(0).ok(), "who has the pages is served");
  const ClientOutcome& refused = report.outcomes.at(1);
  expect(refused.failure && refused.failure->code == Errc::timeout, "who waits ends with its deadline");
  expect(refused.gone <= TimePoint(milliseconds(6)), "when it passes");
  expect(over_at(report, kDecode, 1) <= TimePoint(milliseconds(6)), "and leaves the queue by itself");
}

// Prefill refuses at once. Its word to the router is lost, so decode must tell.
void refusal_travels_both_ways() {
  Scenario scenario = quiet_world();
  scenario.rooms_max = 1;
  add_client(scenario, microseconds(100), 60, 4);
  add_client(scenario, microseconds(150), 16, 4);
  for (const std::uint32_t lost : {0U, 1U}) {
    Scenario one = scenario;
    one.script.push_back({Traffic::leg_failed, 1, lost, Fault::control_lost, {}});
    const RunReport report = play(one);
    expect(report.outcomes.at(0).ok(), "the first request is served");
    const ClientOutcome& refused = report.outcomes.at(1);
    expect(refused.failure && refused.failure->code == Errc::overloaded, "the second one hears the cause");
    expect(refused.gone < TimePoint(milliseconds(1)), "within a message's way");
  }
}

// One of two decode ranks stands still in the middle of its transfer. Prefill waits for it, and for nobody else's cost.
void peer_that_stops_reading() {
  Scenario scenario = quiet_world(1, 2);
  add_client(scenario, microseconds(100), 40, 20);
  add_client(scenario, microseconds(100), 40, 20).time_limit = milliseconds(50);
  add_client(scenario, milliseconds(3), 40, 20);
  const RunReport quiet = play(scenario);
  scenario.timed.push_back({Fault::freeze, {Role::decode, 1}, {}, microseconds(300), milliseconds(500)});
  const RunReport report = play(scenario);
  for (const std::uint32_t other : {0U, 2U}) {
    expect(report.outcomes.at(other).first_token == quiet.outcomes.at(other).first_token,
           "the other rank's first tokens come");
    expect(report.outcomes.at(other).gone == quiet.outcomes.at(other).gone, "and their last, as if nothing had been");
  }
  expect(report.outcomes.at(1).failure && report.outcomes.at(1).gone <= TimePoint(milliseconds(51)),
         "the frozen rank's request ends at its deadline");
}

// The landing never comes and the client leaves: decode asks until it hears that nothing will be written.
void lost_landing_frees_pages() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).time_limit = milliseconds(20);
  scenario.script.push_back({Traffic::landing, 0, 0, Fault::control_lost, {}});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).failure.has_value(), "it ends");
}

// The sender's last word is lost: decode asks for it.
void lost_last_word_is_asked_for() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 40, 4).patience = microseconds(600);
  scenario.script.push_back({Traffic::closed, 0, 0, Fault::notice_lost, {}});
  play(scenario);
}

// Nothing is lost: the sender's last word is enough.
void last_word_frees_pages() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 40, 4).patience = microseconds(600);
  play(scenario);
}

// The answer to the record is lost; the record comes again and is answered again.
void success_is_said_again() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).time_limit = seconds(40);
  scenario.script.push_back({Traffic::answer, 0, 0, Fault::notice_lost, {}});
  const RunReport report = play(scenario, RunOptions{true, nullptr});
  expect(report.outcomes.at(0).ok(), "it is served");
  expect(over_at(report, kPrefill, 0) < TimePoint(seconds(2)), "and prefill is done with it after one pause");
}

// The record is lost; it is said again.
void record_is_said_again() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 4).time_limit = seconds(40);
  scenario.script.push_back({Traffic::record, 0, 0, Fault::notice_lost, {}});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).ok(), "it is served");
  expect(report.outcomes.at(0).gone < TimePoint(seconds(2)), "after one pause");
}

// Decode gives a room up and its word is lost, as is the router's: the next write is answered.
void sender_that_goes_on_is_told() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 80, 4).patience = milliseconds(1);
  scenario.script.push_back({Traffic::answer, 0, 0, Fault::notice_lost, {}});
  for (const std::uint32_t to_prefill : {0U, 2U}) {  // the router's, decode's
    scenario.script.push_back({Traffic::cancel, 0, to_prefill, Fault::control_lost, {}});
  }
  const RunReport report = play(scenario, RunOptions{true, nullptr});
  expect(over_at(report, kPrefill, 0) < TimePoint(milliseconds(3)), "prefill stops at once");
}

}  // namespace

std::vector<NamedCase> ends_cases() {
  return {
      {"T6: a prompt that prefill cannot hold is refused at once", "sglang#30233", too_long_for_prefill},
      {"T8: a full decode rank ends who waits when the deadline passes", "sglang#9726", full_decode_ends_its_queue},
      {"T8b: a refusal reaches the client, whichever leg's word is lost", "sglang#9726", refusal_travels_both_ways},
      {"T10: a peer that stops reading holds up nobody else", "sglang#31144", peer_that_stops_reading},
      {"M9: pages whose landing was lost return", "sglang#24527", lost_landing_frees_pages},
      {"M10: a last word that was lost is asked for", "sglang#24527", lost_last_word_is_asked_for},
      {"M11: a last word frees the pages", "sglang#24527", last_word_frees_pages},
      {"M12: an answer that was lost is given again", "sglang#27374", success_is_said_again},
      {"M13: a record that was lost is said again", "sglang#27374", record_is_said_again},
      {"M14: a sender that goes on after the end is told", "sglang#24527", sender_that_goes_on_is_told},
  };
}

}  // namespace baton::chaos
