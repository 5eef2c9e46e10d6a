#include "sim/workload/csv_row.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using baton::sim::CsvRow;
using Fields = std::vector<std::string>;

Fields split(std::string_view line) {
  CsvRow row;
  REQUIRE(row.split(line));
  return {row.fields().begin(), row.fields().end()};
}

bool is_refused(std::string_view line) {
  CsvRow row;
  return !row.split(line);
}

TEST_CASE("CsvRow: fields between commas, without the blanks around them") {
  CHECK(split("a,b,c") == Fields{"a", "b", "c"});
  CHECK(split(" a , b b ,") == Fields{"a", "b b", ""});
  CHECK(split("") == Fields{""});
  CHECK(split(",") == Fields{"", ""});
}

TEST_CASE("CsvRow: what stands in quotes keeps commas, blanks and doubled quotes") {
  CHECK(split(R"("a,b"," c ","d ""e""",f)") == Fields{"a,b", " c ", "d \"e\"", "f"});
  CHECK(split(R"("",x)") == Fields{"", "x"});
  CHECK(split(R"("a" ,b)") == Fields{"a", "b"});
}

TEST_CASE("CsvRow: many doubled quotes do not move fields that were given before") {
  std::string line;
  for (int i = 0; i < 200; ++i) {
    line += R"("a ""long"" enough field",)";
  }
  for (const std::string& field : split(line.substr(0, line.size() - 1))) {
    CHECK(field == "a \"long\" enough field");
  }
}

TEST_CASE("CsvRow: quotes that do not close, or text behind them, are refused") {
  CHECK(is_refused(R"("a)"));
  CHECK(is_refused(R"(a,"b"")"));
  CHECK(is_refused(R"("a"b,c)"));
}

}  // namespace
