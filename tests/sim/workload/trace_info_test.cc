#include "sim/workload/trace_info.h"

#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;
using std::chrono_literals::operator""s;

TraceInfo info_of(std::vector<TraceRow> rows) {
  FixedRows source(std::move(rows));
  return trace_info(source);
}

TEST_CASE("trace_info: percentiles are by nearest rank") {
  std::vector<TraceRow> rows;
  for (std::uint32_t i = 1; i <= 10; ++i) {
    rows.push_back(row_at(std::chrono::seconds(i)));
    rows.back().request.input_tokens = 11 - i;
  }
  const TraceInfo info = info_of(rows);
  CHECK(info.input.p50 == 5);
  CHECK(info.input.p90 == 9);
  CHECK(info.input.p99 == 10);
  CHECK(info.input.sum == 55);
  CHECK(info.rate == doctest::Approx(1));
  CHECK(info.gap_cv == doctest::Approx(0));
  CHECK(info_of({row_at(5s)}).input.p50 == 100);
}

TEST_CASE("trace_info: hits are blocks that were there before, from the first one on") {
  const auto with = [](std::uint32_t input, std::vector<std::uint64_t> blocks) {
    TraceRow row = row_at(0s);
    row.request.input_tokens = input;
    row.request.block_tokens = 10;
    row.request.blocks = std::move(blocks);
    return row;
  };
  // 1 2 and a partial 3; then 1 is a hit, 9 is none and so 3 neither; then all are, the last one partial.
  const TraceInfo info = info_of({with(25, {1, 2, 3}), with(30, {1, 9, 3}), with(25, {1, 2, 3})});
  CHECK(info.blocks == 4);
  CHECK(info.hit_tokens == 10 + 20);
  CHECK(info.hit_tokens_open == 10 + 25);
}

TEST_CASE("trace_info: failures, turns and sessions are counted, and nothing divides by zero") {
  auto rows = std::vector<TraceRow>{row_at(0s, 7), row_after(7, 1s), row_at(0s)};
  rows[2].request.output_tokens = 0;
  const TraceInfo info = info_of(rows);
  CHECK(info.requests == 3);
  CHECK(info.failed == 1);
  CHECK(info.follow == 1);
  CHECK(info.sessions == 1);
  CHECK(info.rate == 0);
  CHECK(info_text(info).find("1 turns wait for the one before") != std::string::npos);
  CHECK(info_of({}).requests == 0);
}

TEST_CASE("info_json: is JSON, whatever the file is called") {
  const auto json = boost::json::parse(info_json("a \"b\"\\\n", info_of({row_at(0s), row_at(2s), row_at(3s)})));
  CHECK(json.at("trace").as_string() == "a \"b\"\\\n");
  CHECK(json.at("requests").as_int64() == 3);
  CHECK(json.at("rate_rps").as_double() == doctest::Approx(2.0 / 3));
  CHECK(json.at("coarse").as_bool() == false);
  CHECK(json.at("input").at("p50").as_int64() == 100);
}

}  // namespace
