#include "sim/explorer/tally.h"

#include <doctest/doctest.h>

namespace baton::chaos {
namespace {

TEST_CASE("Tally: counts are short and keep three digits") {
  CHECK(short_count(0) == "0");
  CHECK(short_count(999) == "999");
  CHECK(short_count(1000) == "1.00k");
  CHECK(short_count(12'345) == "12.3k");
  CHECK(short_count(999'499) == "999k");
  CHECK(short_count(999'600) == "1.00M");
  CHECK(short_count(4'560'000'000) == "4.56G");
}

TEST_CASE("Tally: the line of progress says what has been done and what has been reached") {
  Tally tally;
  tally.seeds = 50;
  tally.requests = 1500;
  tally.faults[static_cast<std::size_t>(Fault::control_lost)] = 7;
  tally.faults[static_cast<std::size_t>(Fault::notice_lost)] = 3;
  tally.faults[static_cast<std::size_t>(Fault::freeze)] = 1;
  CHECK(progress_text(tally, 200, 0.5)
            .starts_with("50/200 seeds, 100/s, 1.50k requests, faults: lost 10 freeze 1, states 0/"));
}

TEST_CASE("Tally: each pair of state and event is in the table once, as reached or not") {
  const auto count = [](const std::string& text, const std::string& word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      ++times;
    }
    return times;
  };
  Coverage coverage;
  const std::string nothing = coverage_text(coverage);
  CHECK(nothing.find(" reached  ") == std::string::npos);
  CHECK(nothing.find("0 of ") != std::string::npos);
  for (const CoverageCell& cell : coverage_cells()) {
    coverage.reached.set(cell.index);
  }
  const std::string all = coverage_text(coverage);
  CHECK(all.find(" not") == std::string::npos);
  CHECK(cells_reached(coverage) == coverage_cells().size());
  for (const char* event : {"on job", "on token", "on answered", "on abandoned"}) {
    CAPTURE(std::string(event));
    CHECK(count(all, event) > 0);
    CHECK(count(all, event) == count(nothing, event));  // a pair that cannot be is listed all the same
  }
}

}  // namespace
}  // namespace baton::chaos
