#include "sim/explorer/timeline.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace baton::chaos {
namespace {

TraceEvent event(std::int64_t nanoseconds, const char* name, RankId rank, std::uint64_t room) {
  return {TimePoint(Duration(nanoseconds)), name, rank, TraceEvent::Phase::instant, room, 1, 2};
}

RunReport report() {
  RunReport report;
  report.rooms = {{0x10, 3}, {0x20, 4}, {0x30, 3}};
  report.history = {
      event(1, "job", {Role::prefill, 0}, 0x10),      event(2, "job", {Role::prefill, 0}, 0x20),
      event(3, "crash", {Role::decode, 1}, 0),        event(4, "heartbeat", {Role::decode, 1}, 0),
      event(5, "control_lost", {Role::decode, 1}, 0), event(1'500'005, "control_lost", {Role::decode, 0}, 0x30)};
  report.history[5].a = static_cast<std::uint64_t>(Role::router);
  report.history[5].b = 0;
  return report;
}

TEST_CASE("timeline: a request's events are those of its rooms and the faults of ranks") {
  const std::vector<TraceEvent> events = events_of(report(), 3);
  REQUIRE(events.size() == 3);
  CHECK(events[0].id == 0x10);
  CHECK(std::string(events[1].name) == "crash");
  CHECK(events[2].id == 0x30);
  CHECK(events_of(report(), 99).size() == 1);
  CHECK(events_of(report(), std::nullopt).size() == 6);
}

TEST_CASE("timeline: one line an event, faults stand out and say to whom") {
  const std::string text = timeline_text(events_of(report(), 3), report().rooms);
  CHECK(text.starts_with("       0.000001 ms  prefill/0     job "));
  CHECK(text.find("\n!!     1.500005 ms  decode/0      control_lost ") != std::string::npos);
  CHECK(text.find(" #3    0000000000000030  to router/0\n") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("timeline: what happens to a room says in which state the room was") {
  std::vector<TraceEvent> events{event(1, "on landing", {Role::prefill, 0}, 0x10)};
  events[0].a = 3;
  CHECK(timeline_text(events, report().rooms).ends_with(" #3    0000000000000010  was bootstrap\n"));
  events[0].rank = {Role::aggregated, 0};
  CHECK(timeline_text(events, report().rooms).ends_with("  3 2\n"));
}

}  // namespace
}  // namespace baton::chaos
