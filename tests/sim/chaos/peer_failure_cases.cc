// Cases of legs that fail and ranks that return, as users of other PD runtimes met them.
#include <array>

#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kBeat = milliseconds(10);
constexpr Duration kNoticed = 4 * kBeat;  // a silent rank is lost after three, and looked for once a beat

// Decode dies before the first token, or after some. Never is that an end without a cause. (The statuses, the error
// event and [DONE] that HTTP makes of it are tests/roles/http/api_test.cc.)
void dead_decode_is_an_error() {
  bool before = false;
  bool after = false;
  for (int step = 0; step < 30; ++step) {
    Scenario scenario = quiet_world();
    scenario.heartbeat = kBeat;
    add_client(scenario, milliseconds(5), 40, 24);
    scenario.timed.push_back(
        {Fault::crash, kDecode, {}, milliseconds(5) + microseconds(200 * step), milliseconds(300)});
    const RunReport report = play(scenario);
    const ClientOutcome& outcome = report.outcomes.at(0);
    if (outcome.ok()) {
      expect(outcome.tokens.size() == 24, "an end that is good is a whole one");
      continue;
    }
    expect(outcome.ended && outcome.failure.has_value(), "it ends, with a cause");
    expect(outcome.failure->code == Errc::peer_lost || outcome.failure->code == Errc::transfer_failed,
           "which is the loss of the rank");
    expect(outcome.gone <= TimePoint(milliseconds(5) + microseconds(200 * step)) + kNoticed, "soon after it");
    before = before || outcome.tokens.empty();
    after = after || !outcome.tokens.empty();
  }
  expect(before && after, "both were met");
}

// Prefill dies or fails a step at every instant of a hand-over, so in every state a room can be in. Either the prompt
// was handed over, or decode's leg ends within 100 ms and the cause names prefill.
void prefill_fails_in_every_state() {
  for (const Fault how : {Fault::crash, Fault::step_failed, Fault::freeze}) {
    std::uint32_t failed = 0;
    std::uint32_t served = 0;
    for (int step = 0; step < 40; ++step) {
      Scenario scenario = quiet_world();
      scenario.heartbeat = kBeat;
      scenario.latency = microseconds(100);
      add_client(scenario, milliseconds(5), 60, 6);
      const TimePoint at = TimePoint(milliseconds(5) + microseconds(60 * step));
      scenario.timed.push_back({how, kPrefill, {}, at - TimePoint{}, milliseconds(200)});
      const RunReport report = play(scenario, {.keep_history = true});
      const ClientOutcome& outcome = report.outcomes.at(0);
      served += outcome.ok() ? 1 : 0;
      if (!outcome.failure) {
        continue;
      }
      ++failed;
      expect(outcome.gone <= at + milliseconds(100), "the client hears of it within 100 ms");
      expect(over_at(report, kDecode, 0) == kNever || over_at(report, kDecode, 0) <= at + milliseconds(100),
             "and decode lets go");
      const bool named =
          outcome.failure->origin == "prefill/0" || outcome.failure->message.find("prefill/0") != std::string::npos;
      expect(named, "the cause names prefill: " + outcome.failure->origin + ": " + outcome.failure->message);
    }
    expect(failed > 3 && served > 3, std::string("some were before the hand-over and some after: ") + to_string(how));
  }
}

// The only prefill rank is killed under load and comes up at the same place. Its old writes are kept out (a rule of
// the World), what it had handed over goes on, and who comes later gets the new instance.
void prefill_returns_at_its_place() {
  Scenario scenario = quiet_world();
  scenario.heartbeat = kBeat;
  scenario.decode_pages = scenario.prefill_pages = 400;
  for (std::uint32_t i = 0; i < 60; ++i) {
    add_client(scenario, milliseconds(5) + microseconds(500 * i), 20 + i % 30, 30);
  }
  for (std::uint32_t i = 60; i < 70; ++i) {
    add_client(scenario, milliseconds(200 + i), 20, 8);
  }
  scenario.timed.push_back({Fault::crash, kPrefill, {}, milliseconds(15), milliseconds(5)});
  const RunReport report = play(scenario, {.keep_history = true});
  std::uint32_t lost = 0;
  std::uint32_t went_on = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const ClientOutcome& outcome = report.outcomes.at(i);
    lost += outcome.failure ? 1 : 0;
    went_on +=
        outcome.ok() && outcome.first_token < TimePoint(milliseconds(15)) && outcome.gone > TimePoint(milliseconds(15))
            ? 1
            : 0;
  }
  expect(lost > 0, "who was with the old instance is told");
  expect(went_on > 3, "who had been handed over goes on");
  for (std::uint32_t i = 60; i < 70; ++i) {
    expect(report.outcomes.at(i).ok(), "and the new instance serves");
  }
}

}  // namespace

std::vector<NamedCase> peer_failure_cases() {
  return {
      {"P18: a decode rank that dies before or after the first token is an error, never an empty success",
       "vllm-ascend#12166", dead_decode_is_an_error},
      {"P19: whatever state prefill fails in, decode is free within 100 ms and the cause names it", "sglang#9726",
       prefill_fails_in_every_state},
      {"P20: a prefill rank that returns at the same place is a new one, and decode keeps serving", "sglang#12779",
       prefill_returns_at_its_place},
  };
}

}  // namespace baton::chaos
