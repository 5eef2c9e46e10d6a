#include "model/files/json_document.h"

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {

TEST_CASE("JsonObject: reads numbers, bools, strings and objects by key; null counts as absent") {
  const auto document =
      parse_json(R"({"n": 3, "w": 4.0, "x": 0.5, "b": true, "s": "t", "o": {"i": 1}, "z": null})", "f");
  const JsonObject object = JsonObject::root(document, "f");
  CHECK(object.find_u64("n") == 3);
  CHECK(object.find_u64("w") == 4);
  CHECK(object.find_f64("n") == 3.0);
  CHECK(object.find_f64("x") == 0.5);
  CHECK(object.find_bool("b") == true);
  CHECK(object.find_string("s") == "t");
  CHECK(object.find_object("o")->get_u64("i") == 1);
  CHECK(object.find("z") == nullptr);
  CHECK_FALSE(object.find_u64("z").has_value());
  CHECK_FALSE(object.find_string("none").has_value());
}

TEST_CASE("JsonObject: a value of another type names file and key") {
  const auto document = parse_json(R"({"n": -3, "x": 0.5, "s": "t", "big": 1e300})", "f.json");
  const JsonObject object = JsonObject::root(document, "f.json");
  const std::string negative = bad_file_message([&] { object.find_u64("n"); });
  CHECK(contains(negative, "f.json: key 'n'"));
  CHECK(contains(bad_file_message([&] { object.find_u64("x"); }), "'x'"));
  CHECK(contains(bad_file_message([&] { object.find_u64("big"); }), "'big'"));
  CHECK(contains(bad_file_message([&] { object.find_bool("s"); }), "is of type string, a bool was expected"));
  CHECK(contains(bad_file_message([&] { object.find_string("x"); }), "a string was expected"));
  CHECK(contains(bad_file_message([&] { object.find_object("s"); }), "an object was expected"));
  CHECK(contains(bad_file_message([&] { object.find_f64("s"); }), "a number was expected"));
  CHECK(contains(bad_file_message([&] { object.get_u64("none"); }), "key 'none' is missing"));
}

TEST_CASE("parse_json: refuses broken, deep and non-UTF-8 text") {
  CHECK(contains(bad_file_message([] { parse_json("{", "f"); }), "f: is not valid JSON"));
  CHECK(contains(bad_file_message([] { parse_json("{} {}", "f"); }), "is not valid JSON"));
  CHECK(contains(bad_file_message([] { parse_json("\"\xff\"", "f"); }), "is not valid JSON"));
  CHECK(contains(bad_file_message([] { parse_json(std::string(100'000, '['), "f"); }), "is not valid JSON"));
  CHECK(contains(bad_file_message([] { JsonObject::root(parse_json("[]", "f"), "f"); }), "is not an object"));
}

}  // namespace baton::test
