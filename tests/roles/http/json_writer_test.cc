#include "roles/http/json_writer.h"

#include <limits>
#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <doctest/doctest.h>

namespace baton {

TEST_CASE("JsonWriter: puts commas and colons where they belong") {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("a").number(1).key("b").begin_array().number(2U).string("x").begin_object().end_object();
  json.end_array().key("c").null().key("d").boolean(false).key("e").raw("[1]").end_object();
  CHECK(text == R"({"a":1,"b":[2,"x",{}],"c":null,"d":false,"e":[1]})");
}

TEST_CASE("JsonWriter: floats read as people write them, and what is not finite is null") {
  std::string text;
  JsonWriter json(text);
  json.begin_array().number(-0.1F).number(0.25).number(1e-7).number(std::numeric_limits<float>::infinity());
  json.number(std::numeric_limits<double>::quiet_NaN()).end_array();
  CHECK(text == "[-0.1,0.25,1e-07,null,null]");
}

TEST_CASE("JsonWriter: every string survives the way through a parser") {
  std::string all;
  for (int c = 0; c < 0x80; ++c) {
    all += static_cast<char>(c);
  }
  all += "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  std::string text;
  append_json_string(text, all);
  for (const char c : text) {
    CHECK(static_cast<unsigned char>(c) >= 0x20);  // so an event never holds a line end
  }
  const boost::json::value parsed = boost::json::parse(text);
  CHECK(std::string(parsed.get_string()) == all);
}

}  // namespace baton
