// Whose turn it is to be asked again: a pure schedule.
#include "transport/resend.h"

#include <doctest/doctest.h>

#include "tests/support/pick.h"
#include "tests/transport/handover_bench.h"

namespace baton::test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TransferId room(std::uint64_t value) {
  return {kInstance, {value}};
}

TimePoint at(Duration time) {
  return TimePoint() + time;
}

TEST_CASE("ResendSchedule: each room has its own pauses, which double up to a bound") {
  ResendSchedule schedule(ResendOptions{1s, 4s, 8});
  CHECK(schedule.next() == kNever);
  schedule.add(room(1), at(0s));
  schedule.add(room(2), at(500ms));
  schedule.add(room(1), at(900ms));  // there already
  CHECK(schedule.next() == at(1s));
  CHECK(schedule.take_due(at(999ms)).empty());
  CHECK(schedule.take_due(at(1500ms)) == std::vector{room(1), room(2)});
  CHECK(schedule.next() == at(3500ms));
  schedule.remove(room(2));
  schedule.remove(room(2));
  for (const auto due : {3500ms, 7500ms, 11500ms}) {
    CHECK(schedule.next() == at(due));
    CHECK(schedule.take_due(at(due)) == std::vector{room(1)});
  }
  schedule.remove(room(1));
  CHECK(schedule.next() == kNever);
  CHECK(schedule.size() == 0);
}

TEST_CASE("ResendSchedule: a round is bounded, and everybody's turn comes") {
  ResendSchedule schedule(ResendOptions{1s, 16s, 2});
  for (std::uint64_t i = 1; i <= 5; ++i) {
    schedule.add(room(i), at(0s));
  }
  CHECK(schedule.take_due(at(1s)) == std::vector{room(1), room(2)});
  CHECK(schedule.take_due(at(1s)).empty());
  CHECK(schedule.take_due(at(2s)) == std::vector{room(3), room(4)});
  CHECK(schedule.take_due(at(3s)) == std::vector{room(1), room(2)});  // their second time goes before the last one's
  CHECK(schedule.take_due(at(4s)).size() == 2);
}

TEST_CASE("ResendSchedule: no interval, no repetition") {
  ResendSchedule schedule(ResendOptions{0s, 16s, 2});
  schedule.add(room(1), at(0s));
  CHECK(schedule.size() == 0);
  CHECK(schedule.next() == kNever);
}

TEST_CASE("ResendSchedule: random histories lose nobody and never ask at one instant twice") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Pick draw(seed);
    ResendSchedule schedule(ResendOptions{10ms, 80ms, 1 + draw(4)});
    std::map<TransferId, TimePoint> last;
    TimePoint now;
    for (int step = 0; step < 400; ++step) {
      const TransferId id = room(draw(12));
      if (draw(3) == 0) {
        schedule.add(id, now);
        last.try_emplace(id, now);
      } else if (draw(6) == 0) {
        schedule.remove(id);
        last.erase(id);
      }
      now += std::chrono::milliseconds(draw(8));
      for (const TransferId& due : schedule.take_due(now)) {
        REQUIRE(last.contains(due));
        REQUIRE(last[due] < now);
        last[due] = now;
      }
      REQUIRE(schedule.size() == last.size());
      REQUIRE((schedule.next() > now));
    }
    std::set<TransferId> asked;
    for (int round = 0; round < 500; ++round) {
      now = last.empty() ? now : schedule.next();
      for (const TransferId& due : schedule.take_due(now)) {
        asked.insert(due);
      }
    }
    REQUIRE(asked.size() == last.size());
  }
}

}  // namespace
}  // namespace baton::test
