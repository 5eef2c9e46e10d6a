// A TOML file as plain values with their lines. The one place of the simulator's cost side that sees the TOML library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton::sim {

struct TomlNode {
  enum class Kind : std::uint8_t { word, whole, real, flag, list, table, other };

  Kind kind = Kind::other;
  unsigned line = 0;
  std::string word;
  std::int64_t whole = 0;
  double real = 0;  // of a whole number as well
  bool flag = false;
  std::vector<TomlNode> elements;  // of a list
  std::vector<TomlNode> fields;    // of a table, in the order of the file
  std::string key;                 // where this is such a field
                                   // The field of that name; null: there is none. It lives as long as this node.
  const TomlNode* find(std::string_view name) const noexcept;
};

// The top table. Throws Error(bad_file) whose message starts with name and line for a text that is no TOML.
TomlNode parse_toml(std::string_view text, const std::string& name);

// A text as a TOML value: in quotes, with what is special escaped.
std::string toml_quoted_word(std::string_view text);

// A number as a TOML value that reads back as the same double; with a point or exponent in it, so that it stays a
// float.
std::string toml_number(double value);

}  // namespace baton::sim
