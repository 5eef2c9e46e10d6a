#include "sim/cost/table_reader.h"

#include <doctest/doctest.h>

#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

TEST_CASE("TableReader: what nobody asked for is refused, nested tables and lists of tables included") {
  const TomlNode root = parse_toml("a = 1\n[b]\nc = 2\n[[d]]\ne = 3\n[[d]]\nf = 4\n", "t.toml");
  TableReader table(root, "t.toml");
  CHECK(table.whole("a", {0, 9}) == 1);
  CHECK(contains(error_text([&] { table.finish(); }), "t.toml:2: b: unknown; known here: a"));
  TableReader b = table.table("b");
  CHECK(contains(error_text([&] { b.finish(); }), "t.toml:3: b.c: unknown"));
  auto d = table.tables_or_none("d");
  REQUIRE(d.size() == 2);
  CHECK(d[0].number("e", {0, 9}) == 3);
  CHECK(contains(error_text([&] { d[1].finish(); }), "t.toml:7: d[1].f: unknown"));
  table.finish();
}

TEST_CASE("TableReader: values of the wrong kind or outside their range are refused by line") {
  const TomlNode root = parse_toml("a = \"x\"\nb = 1.5\nc = -1\nd = inf\ne = 1979-05-27\nf = []\n", "t.toml");
  TableReader table(root, "t.toml");
  CHECK(contains(error_text([&] { table.number("a", {0, 9}); }),
                 "t.toml:1: a: a number from 0 to 9 is wanted, not \"x\""));
  CHECK(contains(error_text([&] { table.whole("b", {0, 9}); }), "t.toml:2: b: a whole number from 0 to 9"));
  CHECK(contains(error_text([&] { table.whole("c", {0, 9}); }),
                 "t.toml:3: c: a whole number from 0 to 9 is wanted, not -1"));
  CHECK(
      contains(error_text([&] { table.number("d", {0, 9}); }), "t.toml:4: d: a number from 0 to 9 is wanted, not inf"));
  CHECK(contains(error_text([&] { table.word("e"); }), "t.toml:5: e: a word in quotes is wanted, not a date or time"));
  CHECK(contains(error_text([&] { table.flag_or("a", true); }), "true or false is wanted"));
  CHECK(contains(error_text([&] { table.table("f"); }), "a table is wanted, not a list"));
  CHECK(contains(error_text([&] { table.numbers_or_none("a", {0, 9}); }), "a list of numbers is wanted"));
  CHECK(table.number_or("g", 7, {0, 9}) == 7);
  CHECK(contains(error_text([&] { table.number("g", {0, 9}); }), "g: missing"));
}

TEST_CASE("toml_number: a double reads back as the same float") {
  for (const double value : {0.0, 1.0, 0.1, 1e300, 123456789.0, 5e-324, 1.0 / 3}) {
    const TomlNode root = parse_toml("a = " + toml_number(value) + "\n", "t.toml");
    CHECK(root.find("a")->kind == TomlNode::Kind::real);
    CHECK(root.find("a")->real == value);
  }
}

}  // namespace
}  // namespace baton::sim
