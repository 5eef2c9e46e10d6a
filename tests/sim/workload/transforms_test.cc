#include "sim/workload/transforms.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/workload/page_keys.h"
#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

std::unique_ptr<RowSource> source_of(std::vector<TraceRow> rows) {
  return std::make_unique<FixedRows>(std::move(rows));
}

std::vector<TraceRow> at(std::initializer_list<Duration> arrivals) {
  std::vector<TraceRow> rows;
  for (const Duration arrival : arrivals) {
    rows.push_back(row_at(arrival));
  }
  return rows;
}

std::vector<Duration> arrivals_of(const std::vector<TraceRow>& rows) {
  std::vector<Duration> arrivals;
  for (const TraceRow& row : rows) {
    if (!row.follows) {
      arrivals.push_back(row.request.arrival);
    }
  }
  return arrivals;
}

using Times = std::vector<Duration>;

TEST_CASE("slice_time: keeps what arrives in it and counts from its beginning") {
  const auto rows = at({0s, 1s, 2s, 2s, 3s, 4s});
  CHECK(arrivals_of(all_rows(slice_time(source_of(rows), 1s, 3s))) == Times{0s, 1s, 1s});
  CHECK(arrivals_of(all_rows(slice_time(source_of(rows), 0s, 1s))) == Times{0s});
  CHECK(arrivals_of(all_rows(slice_time(source_of(rows), 3s, std::nullopt))) == Times{0s, 1s});
}

TEST_CASE("slice_time: turns go where the turn that they wait for goes") {
  const auto rows = all_rows(slice_time(
      source_of({row_at(0s, 7), row_after(7, 1s), row_at(1s, 8), row_after(8, 1s), row_at(5s, 9), row_after(9, 1s)}),
      1s, 5s));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].request.session == 8);
  CHECK(rows[1].follows);
}

TEST_CASE("first_rows: so many and no more") {
  CHECK(all_rows(first_rows(source_of(at({0s, 1s, 2s})), 2)).size() == 2);
  CHECK(all_rows(first_rows(source_of(at({0s})), 2)).size() == 1);
}

TEST_CASE("drop_failed: rows without an answer go, and with them what waits for them") {
  auto rows = std::vector<TraceRow>{row_at(0s),    row_at(1s, 7),    row_after(7, 1s),
                                    row_at(2s, 8), row_after(8, 1s), row_after(8, 1s)};
  rows[1].request.output_tokens = 0;
  rows[4].request.output_tokens = 0;
  const auto left = all_rows(drop_failed(source_of(rows)));
  REQUIRE(left.size() == 2);
  CHECK(left[0].request.session == 0);
  CHECK(left[1].request.session == 8);
}

TEST_CASE("thin: keeps the share that was asked for, by the seed, without moving anything") {
  std::vector<TraceRow> rows;
  for (int i = 0; i < 100'000; ++i) {
    rows.push_back(row_at(Duration(i)));
  }
  const auto kept = all_rows(thin(source_of(rows), 0.3, 5));
  // Binomial: a deviation of 145 rows.
  CHECK(static_cast<double>(kept.size()) == doctest::Approx(30'000).epsilon(0.02));
  CHECK(arrivals_of(kept) == arrivals_of(all_rows(thin(source_of(rows), 0.3, 5))));
  CHECK(arrivals_of(kept) != arrivals_of(all_rows(thin(source_of(rows), 0.3, 6))));
  CHECK(all_rows(thin(source_of(rows), 1, 5)).size() == rows.size());
  CHECK(all_rows(thin(source_of(rows), 0, 5)).empty());
}

TEST_CASE("thin: a conversation stays whole or goes, also where its turns have arrivals") {
  std::vector<TraceRow> rows;
  for (int turn = 0; turn < 3; ++turn) {
    for (std::uint64_t session = 1; session <= 2000; ++session) {
      rows.push_back(row_at(Duration(turn), session));
    }
  }
  std::map<std::uint64_t, int> turns;
  for (const TraceRow& row : all_rows(thin(source_of(rows), 0.5, 1))) {
    ++turns[row.request.session];
  }
  CHECK(static_cast<double>(turns.size()) == doctest::Approx(1000).epsilon(0.1));
  for (const auto& [session, count] : turns) {
    CHECK(count == 3);
  }
}

TEST_CASE("scale_rate: by time the rate changes and bursts stay; thinning weakens them") {
  // Ticks of ten requests each, a second apart: the gaps' CV is 3.
  std::vector<TraceRow> rows;
  for (int i = 0; i < 20'000; ++i) {
    rows.push_back(row_at(std::chrono::seconds(i / 10)));
  }
  const auto cv = [](const Times& times) {
    double squares = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
      squares += std::pow(seconds(times[i] - times[i - 1]), 2);
    }
    const auto count = static_cast<double>(times.size() - 1);
    const double mean = seconds(times.back() - times.front()) / count;
    return std::sqrt(squares / count - mean * mean) / mean;
  };
  const Times scaled = arrivals_of(all_rows(scale_rate(source_of(rows), 0.1)));
  CHECK(scaled.back() == 19'990s);
  CHECK(cv(scaled) == doctest::Approx(cv(arrivals_of(rows))));
  const Times thinned = arrivals_of(all_rows(thin(source_of(rows), 0.1, 1)));
  CHECK(static_cast<double>(thinned.size()) == doctest::Approx(2000).epsilon(0.1));
  CHECK(cv(thinned) < 0.6 * cv(scaled));
  CHECK(arrivals_of(all_rows(scale_rate(source_of(at({1s, 2s})), 4))) == Times{250ms, 500ms});
  CHECK(!refusal([&] { all_rows(scale_rate(source_of(rows), 1e-6)); }).empty());
}

TEST_CASE("cap_lengths: lengths are cut, and with them the blocks behind") {
  TraceRow row = row_at(0s);
  row.request.input_tokens = 2000;
  row.request.output_tokens = 300;
  row.request.block_tokens = 512;
  row.request.blocks = {1, 2, 3, 4};
  const auto cut = all_rows(cap_lengths(source_of({row}), {1100, 200}));
  CHECK(cut[0].request.input_tokens == 1100);
  CHECK(cut[0].request.output_tokens == 200);
  CHECK(full_block_tokens(cut[0].request) == 1024);
  CHECK(prompt_page_keys(cut[0].request, 512).size() == 2);
  const auto same = all_rows(cap_lengths(source_of({row}), {5000, std::nullopt}));
  CHECK(same[0].request.input_tokens == 2000);
  CHECK(same[0].request.blocks.size() == 4);
}

TEST_CASE("retime: arrivals of a process, turns as they were") {
  const auto rows = all_rows(
      retime(source_of({row_at(9s, 7), row_after(7, 3s), row_at(1s), row_at(0s)}), parse_arrivals("constant:2"), 1));
  CHECK(arrivals_of(rows) == Times{0s, 500ms, 1s});
  CHECK(rows[1].follows);
  CHECK(rows[1].request.think == 3s);
}

TEST_CASE("spread_ticks: each group evenly up to the next, or over a tick") {
  const auto rows = at({0s, 0s, 0s, 3s, 12s, 12s});
  CHECK(arrivals_of(all_rows(spread_ticks(source_of(rows), std::nullopt))) == Times{0s, 1s, 2s, 3s, 12s, 16500ms});
  CHECK(arrivals_of(all_rows(spread_ticks(source_of(rows), 3s))) == Times{0s, 1s, 2s, 3s, 12s, 13500ms});
  CHECK(arrivals_of(all_rows(spread_ticks(source_of(at({5s, 5s})), std::nullopt))) == Times{5s, 5s});
}

TEST_CASE("spread_ticks: turns stay behind the turn that they wait for") {
  const auto rows =
      all_rows(spread_ticks(source_of({row_at(0s, 7), row_after(7, 1s), row_at(0s), row_at(4s)}), std::nullopt));
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].follows);
  CHECK(arrivals_of(rows) == Times{0s, 2s, 4s});
}

TEST_CASE("spread_ticks: however many share a width, their arrivals go forward and stay inside") {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const auto count = 1 + random.uniform(50);
    const Duration width(static_cast<std::int64_t>(1 + random.uniform(1'000'000'000'000)));
    std::vector<TraceRow> rows(count, row_at(0s));
    rows.push_back(row_at(width));
    const Times times = arrivals_of(all_rows(spread_ticks(source_of(rows), std::nullopt)));
    for (std::size_t i = 0; i < count; ++i) {
      const double wanted = static_cast<double>(width.count()) * static_cast<double>(i) / static_cast<double>(count);
      REQUIRE(std::abs(static_cast<double>(times[i].count()) - wanted) <= 1);
      REQUIRE(times[i] <= times[i + 1]);
    }
  }
}

TEST_CASE("sort_rows: by arrival, equal ones in their order, turns behind what they wait for") {
  auto rows = std::vector<TraceRow>{row_at(5s, 7),    row_at(2s),       row_at(2s, 8),
                                    row_after(7, 1s), row_after(8, 1s), row_at(5s, 9)};
  rows[1].request.input_tokens = 1;
  const auto sorted = all_rows(sort_rows(source_of(rows), false));
  std::vector<std::uint64_t> sessions;
  for (const TraceRow& row : sorted) {
    sessions.push_back(row.request.session);
  }
  CHECK(sessions == std::vector<std::uint64_t>{0, 8, 8, 7, 7, 9});
  CHECK(arrivals_of(sorted) == Times{2s, 2s, 5s, 5s});
  CHECK(arrivals_of(all_rows(sort_rows(source_of(rows), true))) == Times{0s, 0s, 3s, 3s});
}

TEST_CASE("repeat_rows: copies one after another, with conversations and prefixes of their own") {
  TraceRow first = row_at(1s, 7);
  first.request.block_tokens = 16;
  first.request.blocks = {1, 2};
  first.request.id = "x";
  const OpenRows open = [&] { return source_of({first, row_after(7, 1s), row_at(2s), row_at(5s)}); };
  const auto rows = all_rows(repeat_rows(open, 3));
  REQUIRE(rows.size() == 12);
  CHECK(arrivals_of(rows) == Times{1s, 2s, 5s, 7s, 8s, 11s, 13s, 14s, 17s});
  CHECK(rows[4].request.session != 7);
  CHECK(rows[4].request.session == rows[5].request.session);
  CHECK(rows[8].request.session != rows[4].request.session);
  CHECK(rows[4].request.blocks != first.request.blocks);
  CHECK(rows[0].request.id == "x");
  CHECK(rows[4].request.id == "x/1");
  const OpenRows one = [&] { return source_of(at({0s})); };
  CHECK(arrivals_of(all_rows(repeat_rows(one, 3))) == Times{0s, 1s, 2s});
}

}  // namespace
