// JSON text, appended to a string in the order it is to stand there.
//
// Boost.JSON reads what clients send; answers are written directly, because a token event is built once per token and
// because floats are to read as people write them. Strings must be valid UTF-8. Misuse (a value without its key) is
// not detected.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace baton {

class JsonWriter final {
 public:
  // Appends to `out`, which outlives the writer.
  explicit JsonWriter(std::string& out) noexcept : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  // Not finite becomes null: JSON has no other word for it.
  JsonWriter& number(double value);
  JsonWriter& number(float value);
  template <std::integral Int>
  JsonWriter& number(Int value) {
    separate();
    out_ += std::to_string(value);
    return *this;
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

// The text as a JSON string with its quotes.
void append_json_string(std::string& out, std::string_view text);

}  // namespace baton
