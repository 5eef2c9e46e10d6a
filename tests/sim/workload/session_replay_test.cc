#include "sim/workload/session_replay.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

SessionReplay replay_of(std::vector<TraceRow> rows) {
  return SessionReplay(std::make_unique<FixedRows>(std::move(rows)));
}

TEST_CASE("SessionReplay: rows with arrivals come in their order") {
  SessionReplay replay = replay_of({row_at(1s), row_at(1s), row_at(2s)});
  CHECK(replay.peek() == 1s);
  CHECK(replay.next()->arrival == 1s);
  CHECK(replay.next()->arrival == 1s);
  CHECK(replay.peek() == 2s);
  CHECK(replay.next()->arrival == 2s);
  CHECK(!replay.peek());
  CHECK(!replay.next());
}

TEST_CASE("SessionReplay: a turn comes a pause after the end of the one before, between what else arrives") {
  SessionReplay replay = replay_of({row_at(0s, 5), row_after(5, 3s), row_after(5, 1s), row_at(10s)});
  CHECK(replay.next()->session == 5);
  CHECK(replay.peek() == 10s);
  replay.finished(5, 4s);
  CHECK(replay.peek() == 7s);
  CHECK(replay.next()->arrival == 7s);
  CHECK(replay.peek() == 10s);
  CHECK(replay.next()->session == 0);
  CHECK(!replay.peek());
  replay.finished(5, 20s);
  CHECK(replay.next()->arrival == 21s);
  replay.finished(5, 22s);
  CHECK(!replay.peek());
}

TEST_CASE("SessionReplay: an end that is heard late brings no arrival before one that was given") {
  SessionReplay replay = replay_of({row_at(0s, 5), row_after(5, 1s), row_at(10s), row_at(11s)});
  replay.next();
  replay.next();
  replay.finished(5, 2s);
  CHECK(replay.next()->arrival == 10s);
  CHECK(replay.next()->arrival == 11s);
}

TEST_CASE("SessionReplay: several requests of a session at once are no closed loop") {
  SessionReplay replay = replay_of({row_at(0s, 5), row_at(1s, 5), row_at(2s, 6), row_at(3s, 5)});
  for (const std::uint64_t session : {5U, 5U, 6U, 5U}) {
    CHECK(replay.next()->session == session);
  }
  for (const std::uint64_t session : {5U, 5U, 6U, 5U}) {
    replay.finished(session, 9s);
  }
  CHECK(!replay.peek());
}

TEST_CASE("SessionReplay: a turn that does not stand behind its session is refused") {
  SessionReplay replay = replay_of({row_at(0s, 5), row_at(1s), row_after(5, 1s)});
  replay.next();
  replay.next();
  CHECK(refusal([&] { replay.peek(); }).find("does not stand behind the turn that it follows") != std::string::npos);
}

TEST_CASE("SessionReplay: many conversations at once each wait for their own") {
  std::vector<TraceRow> rows;
  for (std::uint64_t session = 1; session <= 50; ++session) {
    rows.push_back(row_at(Duration(session), session));
    for (int turn = 0; turn < 4; ++turn) {
      rows.push_back(row_after(session, Duration(session * 1000)));
    }
  }
  SessionReplay replay = replay_of(rows);
  std::size_t count = 0;
  Duration last{};
  while (const auto request = replay.next()) {
    CHECK(request->arrival >= last);
    last = request->arrival;
    replay.finished(request->session, request->arrival + 5ns);
    ++count;
  }
  CHECK(count == rows.size());
}

}  // namespace
