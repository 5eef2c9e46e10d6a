#include "sim/workload/servegen.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;

const std::string kHeader =
    "category,window_start_s,rate_rps,active_clients,rate_weighted_interarrival_cv,mean_input_tokens,"
    "mean_output_tokens\n";

std::vector<TraceRow> draw(const std::string& rows, RateOptions options = {}) {
  return all_rows(rate_rows(input_of_text(kHeader + rows, "r"), options));
}

std::string refusal_of(const std::string& rows, RateOptions options = {}) {
  return refusal([&] { draw(rows, options); });
}

TEST_CASE("rate_rows: each window has its rate, and a silent one is silent") {
  const auto rows = draw("a,600,40,1,1,100,20\na,700,0,0,,,\na,800,80,1,2,200,30\n");
  std::size_t first = 0;
  std::size_t last = 0;
  for (const TraceRow& row : rows) {
    const double at = seconds(row.request.arrival);
    CHECK((at < 100 || at >= 200));
    CHECK(at < 300);
    (at < 100 ? first : last) += 1;
    CHECK(row.request.input_tokens == (at < 100 ? 100 : 200));
    CHECK(row.request.output_tokens == (at < 100 ? 20 : 30));
  }
  // 4,000 and 8,000 are expected; a deviation is sqrt(n) times the CV.
  CHECK(static_cast<double>(first) == doctest::Approx(4000).epsilon(0.06));
  CHECK(static_cast<double>(last) == doctest::Approx(8000).epsilon(0.09));
}

TEST_CASE("rate_rows: one category of several, with lengths where the table has none") {
  const std::string table = "a,0,10,1,1,,\nb,0,10,1,1,,\na,600,10,1,1,,\n";
  RateOptions options;
  CHECK(refusal_of(table, options) == "r: several categories of requests; choose one (--category): there is a, b");
  options.category = "c";
  CHECK(refusal_of(table, options) == "r: no category 'c' in it: there is a, b");
  options.category = "b";
  CHECK(refusal_of(table, options) == "r: no mean lengths in the window at 0 s; give lengths (--input, --output)");
  options.input = parse_length("70", 1000);
  options.output = parse_length("uniform:1,9", 1000);
  const auto rows = draw(table, options);
  CHECK(static_cast<double>(rows.size()) == doctest::Approx(6000).epsilon(0.06));
  CHECK(rows[0].request.input_tokens == 70);
  CHECK(rows[0].request.output_tokens <= 9);
}

TEST_CASE("rate_rows: rows that make no sense are refused") {
  CHECK(refusal_of("a,0,-1,1,1,1,1\n") == "r:2: rate_rps: '-1': a number from 0 to 10000000 is wanted");
  CHECK(refusal_of("a,0,,1,1,1,1\n") == "r:2: rate_rps: '': a number from 0 to 10000000 is wanted");
  CHECK(refusal_of("a,0,1,1,1,1\n") == "r:2: 6 fields, where the header has 7");
  CHECK(refusal_of("a,600,1,1,1,1,1\na,600,1,1,1,1,1\n") ==
        "r:3: window_start_s: '600': a window begins after the one before it");
  CHECK(refusal_of("") == "r: no windows in it");
  CHECK(refusal([] { rate_rows(input_of_text("category,rate_rps\n", "r"), {}); }) ==
        "r:1: the column 'window_start_s' is missing");
}

}  // namespace
