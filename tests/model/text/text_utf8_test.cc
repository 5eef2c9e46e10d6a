#include <random>
#include <string>

#include <doctest/doctest.h>

#include "model/text/utf8.h"

namespace baton {
namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

TEST_CASE("utf8: valid text of every length of character stays as it is") {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xED\x9F\xBF\xF4\x8F\xBF\xBF";
  CHECK(is_valid_utf8(text));
  CHECK(repaired_utf8(text) == text);
}

TEST_CASE("utf8: each maximal ill-formed part becomes one replacement character") {
  struct Row {
    const char* bytes;
    std::size_t replacements;
  };
  // The counts are those of Python's bytes.decode('utf-8', 'replace').
  const Row rows[] = {
      {"\x80", 1},         {"\xC0\x80", 2},         {"\xC3", 1},     {"\xE0\x80\x80", 3}, {"\xE2\x82", 1},
      {"\xED\xA0\x80", 3}, {"\xF0\x9F\x98", 1},     {"\xF4\x90", 2}, {"\xF5\x80", 2},     {"\xFF\xFE", 2},
      {"\xE2\xE2\x82", 2}, {"\xF0\x9F\xF0\x9F", 2}, {"\xC3\xC3", 2}, {"\xF0\x80", 2},
  };
  for (const Row& row : rows) {
    std::string expected;
    for (std::size_t i = 0; i < row.replacements; ++i) {
      expected += kReplacement;
    }
    CHECK_FALSE(is_valid_utf8(row.bytes));
    CHECK(repaired_utf8(row.bytes) == expected);
    CHECK(repaired_utf8(std::string("x") + row.bytes + "y") == "x" + expected + "y");
  }
}

TEST_CASE("utf8: a stream cut anywhere gives the text that the whole gives") {
  std::mt19937 random(7);
  const std::string alphabet = "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC3\xE0\xE2\xED\xEF\xF0\xF1\xF4\xF5\xFF";
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (std::size_t i = random() % 12; i > 0; --i) {
      bytes += alphabet[random() % alphabet.size()];
    }
    Utf8Repair stream;
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t count = 1 + random() % 3;
      stream.append(std::string_view(bytes).substr(at, count), out);
      REQUIRE(is_valid_utf8(out));
      REQUIRE(stream.pending() <= 3);
      at += count;
    }
    stream.finish(out);
    REQUIRE(out == repaired_utf8(bytes));
  }
}

}  // namespace
}  // namespace baton
