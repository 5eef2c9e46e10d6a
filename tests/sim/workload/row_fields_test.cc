#include "sim/workload/row_fields.h"

#include <string>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;

constexpr std::int64_t kSecond = 1'000'000'000;
const RowPlace kPlace{"t.csv", 12};

std::int64_t time_of(std::string_view text, std::int64_t unit = kSecond) {
  return parse_time(kPlace, "at", text, unit).count();
}

TEST_CASE("parse_time: decimals are exact, whatever a double would make of them") {
  CHECK(time_of("0") == 0);
  CHECK(time_of("12.943737") == 12'943'737'000);
  CHECK(time_of("8200000000.123456789") == 8'200'000'000'123'456'789);
  CHECK(time_of("0.1234567894") == 123'456'789);
  CHECK(time_of("0.1234567895") == 123'456'790);
  CHECK(time_of("0.9999999999") == 1'000'000'000);
  CHECK(time_of("1.5", 1'000'000) == 1'500'000);
  CHECK(time_of("46926808", 1) == 46'926'808);
  CHECK(time_of("3.6", 1) == 4);
  CHECK(time_of("2.") == 2 * kSecond);
  CHECK(time_of("1e3") == 1000 * kSecond);
  CHECK(time_of(".5") == kSecond / 2);
}

TEST_CASE("parse_time: what is no time is refused with its place") {
  for (const char* text : {"", "-1", "nan", "inf", "1s", "1.2.3", "1e300", "0x10", "99999999999999999999", " 1"}) {
    CHECK(refusal([&] { time_of(text); }) ==
          "t.csv:12: at: '" + std::string(text) + "': a time that is a number and not negative is wanted");
  }
}

TEST_CASE("parse_tokens: whole numbers inside the bounds") {
  CHECK(parse_tokens(kPlace, "n", "1", 1) == 1);
  CHECK(parse_tokens(kPlace, "n", "374.0", 1) == 374);
  CHECK(parse_tokens(kPlace, "n", "16777216", 1) == kTokensMax);
  CHECK(parse_tokens(kPlace, "n", "0", 0) == 0);
  for (const char* text : {"", "0", "-3", "1.5", "16777217", "1e3", "nan", "99999999999999999999999", "7x", "+7"}) {
    CHECK(refusal([&] { parse_tokens(kPlace, "n", text, 1); }) ==
          "t.csv:12: n: '" + std::string(text) + "': a whole number from 1 to 16777216 is wanted");
  }
}

TEST_CASE("parse_date_time: digits of 100 ns, zones, and days that exist") {
  const auto at = [](std::string_view text) { return parse_date_time(kPlace, "TIMESTAMP", text).count(); };
  CHECK(at("1970-01-01 00:00:00") == 0);
  CHECK(at("2023-11-16 18:17:03.9799600") == 1'700'158'623'979'960'000);
  CHECK(at("2024-05-12 00:00:00.001023+00:00") == 1'715'472'000'001'023'000);
  CHECK(at("1970-01-02T01:00:00+01:00") == 86'400 * kSecond);
  CHECK(at("1970-01-01 23:00:00-01:30") == (86'400 + 1800) * kSecond);
  CHECK(at("1970-01-01 00:00:00Z") == 0);
  CHECK(at("2024-02-29 00:00:00") - at("2024-02-28 00:00:00") == 86'400 * kSecond);
  for (const char* text :
       {"", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-11-16", "2023-11-16 24:00:00",
        "2023-11-16 18:17:03.97x", "1969-01-01 00:00:00", "1970-01-01 00:00:00+01:00", "5.0", "2023-11-16 18:17:03 "}) {
    CHECK(refusal([&] { at(text); }).find("a date and time such as") != std::string::npos);
  }
}

TEST_CASE("id_of: numbers and words are apart, and none is 0") {
  CHECK(id_of("0") == 1);
  CHECK(id_of("41") == 42);
  CHECK(id_of("") != 0);
  CHECK(id_of("-1") != id_of("1"));
  CHECK(id_of("a") == id_of("a"));
  CHECK(id_of("a") != id_of("b"));
  CHECK(id_of("18446744073709551615") >= (1ULL << 63));
}

TEST_CASE("json_time and json_tokens: numbers of either kind, and nothing else") {
  const auto json = [](const char* text) { return boost::json::parse(text); };
  CHECK(json_time(kPlace, "ts", json("3052"), 1'000'000).count() == 3'052'000'000);
  CHECK(json_time(kPlace, "ts", json("0.25"), 1'000'000).count() == 250'000);
  CHECK(json_tokens(kPlace, "il", json("7.0"), 1) == 7);
  for (const char* text : {"-1", "1e300", "\"1\"", "null", "[]", "18446744073709551615", "9223372036854775807"}) {
    CHECK(!refusal([&] { json_time(kPlace, "ts", json(text), 1'000'000); }).empty());
    CHECK(!refusal([&] { json_tokens(kPlace, "il", json(text), 1); }).empty());
  }
  CHECK(refusal([&] { json_tokens(kPlace, "il", json("7.5"), 1); }) ==
        "t.csv:12: il: '7.5E0': a whole number from 1 to 16777216 is wanted");
}

TEST_CASE("refuse_field: a long value is cut, and its control characters are not printed") {
  const std::string long_text = std::string("\x1b[31m") + std::string(500, 'x');
  const std::string message = refusal([&] { refuse_field(kPlace, "f", long_text, "no"); });
  CHECK(message.size() < 120);
  CHECK(message.find('\x1b') == std::string::npos);
}

}  // namespace
