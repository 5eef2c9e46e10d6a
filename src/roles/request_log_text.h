// Taking a line of a request log apart: cells of CSV, members of a flat JSON object. Pure.
//
// JSON numbers stay text, so that std::from_chars can give back the very bits that were written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

// The cells of an RFC 4180 record. False when a quote is still open: the record goes on in the next line.
bool split_csv(std::string_view line, std::vector<std::string>& cells);

struct JsonMember {
  enum class Kind : std::uint8_t { string, number, null, other };
  std::string name;
  Kind kind = Kind::null;
  std::string value;  // a string without its quotes and escapes; a number's text
};

// The members of an object that holds no other objects or arrays, in their order. Empty when it worked, else why not.
std::string split_json(std::string_view line, std::vector<JsonMember>& members);

}  // namespace baton
