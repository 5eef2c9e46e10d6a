// Cases of when a hand-over is complete: by counting, whatever order and number its notices come in.
#include <algorithm>
#include <array>
#include <utility>

#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// One request at a time has a place at decode. The first one's record comes when the second one has its place.
void late_record_is_its_rooms() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 6;
  scenario.running_max = 1;
  add_client(scenario, microseconds(100), 16, 4).patience = milliseconds(2);
  add_client(scenario, microseconds(200), 16, 4);
  scenario.script.push_back({Traffic::record, 0, 0, Fault::notice_overtaken, milliseconds(3)});
  scenario.script.push_back({Traffic::record, 1, 0, Fault::notice_overtaken, milliseconds(30)});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).tokens.empty(), "the first request ended without a token");
  expect(report.outcomes.at(1).ok(), "the second one is served");
  expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(30)), "by its own record");
}

// The second request's pages are the first one's. All of them have landed long before its record.
void reused_place_waits_for_record() {
  Scenario scenario = quiet_world();
  scenario.decode_pages = 6;
  add_client(scenario, microseconds(100), 16, 4);
  add_client(scenario, microseconds(200), 16, 4);
  scenario.script.push_back({Traffic::record, 1, 0, Fault::notice_delayed, milliseconds(50)});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).gone < TimePoint(milliseconds(10)), "the first request does not wait");
  expect(report.outcomes.at(1).ok(), "the second one is served");
  expect(report.outcomes.at(1).first_token > TimePoint(milliseconds(50)), "when its record has come");
}

// Two decode ranks with a room each; one record is lost and said again after a second.
void one_rank_waits_alone() {
  Scenario scenario = quiet_world(1, 2);
  add_client(scenario, microseconds(100), 16, 4).time_limit = seconds(40);
  add_client(scenario, microseconds(100), 16, 4).time_limit = seconds(40);
  const RunReport quiet = play(scenario);
  scenario.script.push_back({Traffic::record, 1, 0, Fault::notice_lost, {}});
  const RunReport report = play(scenario);
  expect(report.outcomes.at(0).gone == quiet.outcomes.at(0).gone, "the other rank's room ends as if nothing had been");
  expect(report.outcomes.at(1).ok(), "the room is served after all");
  expect(report.outcomes.at(1).first_token > TimePoint(seconds(1)), "when its record has come again");
}

// Three chunks of one page and more each; their notices come in any order, and twice, before and after the record.
void any_order_any_number() {
  std::array<std::uint32_t, 3> order{0, 1, 2};
  do {
    for (const bool twice : {false, true}) {
      Scenario scenario = quiet_world();
      add_client(scenario, microseconds(100), 48, 4).time_limit = seconds(40);
      for (std::uint32_t place = 0; place < order.size(); ++place) {
        scenario.script.push_back(
            {Traffic::written, 0, order[place], Fault::notice_overtaken, milliseconds(10 * (place + 1))});
      }
      if (twice) {
        scenario.script.front().fault = Fault::notice_duplicated;
      }
      const ClientOutcome outcome = play(scenario).outcomes.at(0);
      expect(outcome.ok(), "it is served");
      expect(outcome.first_token > TimePoint(milliseconds(30)), "not before the last write was announced");
      expect(outcome.first_token < TimePoint(milliseconds(33)), "and at once then");
    }
  } while (std::ranges::next_permutation(order).found);
}

// One chunk's notice comes twice, another one's is lost: two and one make three, but not these.
void twice_is_not_two() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 48, 4).time_limit = seconds(40);
  scenario.script.push_back({Traffic::written, 0, 0, Fault::notice_duplicated, microseconds(50)});
  scenario.script.push_back({Traffic::write, 0, 1, Fault::write_unheard, {}});
  const ClientOutcome outcome = play(scenario).outcomes.at(0);
  expect(outcome.ok(), "it is served");
  expect(outcome.first_token > TimePoint(seconds(1)), "when the lost notice has been said again");
}

// The record is there, a write is under way.
void record_alone_is_not_enough() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 48, 4);
  scenario.script.push_back({Traffic::written, 0, 0, Fault::notice_overtaken, milliseconds(20)});
  const ClientOutcome outcome = play(scenario).outcomes.at(0);
  expect(outcome.ok(), "it is served");
  expect(outcome.first_token > TimePoint(milliseconds(20)), "when every write has been announced");
}

void failed_write_fails_the_room() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 48, 4).time_limit = seconds(40);
  scenario.script.push_back({Traffic::write, 0, 1, Fault::write_failed, {}});
  const ClientOutcome outcome = play(scenario).outcomes.at(0);
  expect(outcome.failure && outcome.failure->code == Errc::transfer_failed, "the cause is the write's");
  expect(outcome.tokens.empty(), "no token was shown");
  expect(outcome.gone < TimePoint(milliseconds(10)), "nobody waited for a time-out");
}

// Half of the record is missing, its length is right.
void torn_record_fails_the_room() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 16, 4);
  scenario.script.push_back({Traffic::record, 0, 0, Fault::record_torn, {}});
  const ClientOutcome outcome = play(scenario).outcomes.at(0);
  expect(outcome.failure && outcome.failure->code == Errc::corrupt, "the cause is named");
  expect(outcome.tokens.empty(), "no token was shown");
}

}  // namespace

std::vector<NamedCase> completion_cases() {
  return {
      {"T2: a late record is its own room's, whoever has the place now", "sglang#17259", late_record_is_its_rooms},
      {"T3: a room in a used place waits for its own record", "sglang#27374", reused_place_waits_for_record},
      {"T4: a record that one rank lacks holds up nobody else", "sglang#26394", one_rank_waits_alone},
      {"T5: chunks may be announced in any order and twice", "sglang#37697", any_order_any_number},
      {"M1: a write that is announced twice does not stand for another", "sglang#37697", twice_is_not_two},
      {"M2: a record does not stand for the writes it declares", "sglang#37697", record_alone_is_not_enough},
      {"M3: a write that failed is not announced", "sglang#24527", failed_write_fails_the_room},
      {"M4: a record that is not whole is not believed", "sglang#17259", torn_record_fails_the_room},
  };
}

}  // namespace baton::chaos
