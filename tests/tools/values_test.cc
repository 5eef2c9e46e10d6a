#include "tools/baton/values.h"

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/errors.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("parse_count: takes whole numbers within bounds and nothing else") {
  CHECK(parse_count("1", {1, 64}) == 1);
  CHECK(parse_count("64", {1, 64}) == 64);
  for (const char* bad : {"", "0", "65", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "99999999999999999999", "one"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_count(bad, {1, 64}), Error);
  }
  CHECK_THROWS_WITH_AS(parse_count("65", {1, 64}), "'65' is not a whole number from 1 to 64", Error);
}

TEST_CASE("parse_bytes: knows binary and decimal units") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("1073741824") == 1ULL << 30);
  CHECK(parse_bytes("1GiB") == 1ULL << 30);
  CHECK(parse_bytes("1.5GiB") == 3ULL << 29);
  CHECK(parse_bytes("512MiB") == 512ULL << 20);
  CHECK(parse_bytes("2GB") == 2'000'000'000);
  for (const char* bad : {"", "GiB", "1 GiB", "1gib", "-1GiB", "1G", "nan", "inf", "1e30TiB", "1TiBx"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_bytes(bad), Error);
  }
}

TEST_CASE("bytes_text: is read back as the same number") {
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1023ULL, 1024ULL, 1ULL << 30, 3ULL << 29, 1'000'000'000ULL}) {
    CHECK(parse_bytes(bytes_text(bytes)) == bytes);
  }
  CHECK(bytes_text(1ULL << 30) == "1GiB");
  CHECK(bytes_text(3ULL << 29) == "1536MiB");
}

TEST_CASE("parse_duration: a bare number is seconds") {
  CHECK(parse_duration("90") == seconds(90));
  CHECK(parse_duration("1.5s") == milliseconds(1500));
  CHECK(parse_duration("250ms") == milliseconds(250));
  CHECK(parse_duration("2m") == minutes(2));
  CHECK(parse_duration(duration_text(milliseconds(250))) == milliseconds(250));
  CHECK(parse_duration(duration_text(minutes(10))) == minutes(10));
  for (const char* bad : {"", "s", "-1s", "1 s", "1d", "1e400", "99999h", "nan"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_duration(bad), Error);
  }
}

TEST_CASE("parse_real: refuses what is no number or out of bounds") {
  CHECK(parse_real("0.7", {0, 1}) == doctest::Approx(0.7));
  for (const char* bad : {"", "1.01", "-0.1", "nan", "0,5", "0.5x"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_real(bad, {0, 1}), Error);
  }
}

TEST_CASE("parse_word: names the words, and the one that was probably meant") {
  CHECK(parse_word("pd", {"pd", "aggregated"}) == "pd");
  CHECK_THROWS_WITH_AS(parse_word("agregated", {"pd", "aggregated"}),
                       "'agregated' is not one of pd|aggregated; did you mean aggregated?", Error);
  CHECK_THROWS_WITH_AS(parse_word("x", {"pd", "aggregated"}), "'x' is not one of pd|aggregated", Error);
}

TEST_CASE("nearest: finds slips of the finger and beginnings, and is silent where nothing is near") {
  const std::vector<std::string> names = {"--port", "--prefill", "--page-size", "--max-running"};
  CHECK(nearest("--prot", names) == "--port");
  CHECK(nearest("--prefil", names) == "--prefill");
  CHECK(nearest("--pagesize", names) == "--page-size");
  CHECK(nearest("prot", {"port"}) == "port");
  CHECK(nearest("--max", names) == "--max-running");
  CHECK(nearest("--completely-different", names).empty());
  CHECK(nearest("", names).empty());
}

}  // namespace
}  // namespace baton
