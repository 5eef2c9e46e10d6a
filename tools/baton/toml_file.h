// A settings file as flat entries. The one place that sees the TOML library.
#pragma once

#include <string>
#include <vector>

namespace baton {

struct TomlEntry {
  std::string key;
  unsigned line = 0;
  std::vector<std::string> values;  // as text: 16, 0.5, true, words without their quotes
  bool is_list = false;
};

// The entries in the order of the file. Throws Error(bad_file) for a file that cannot be read or is no TOML, and for
// tables, dates and nested lists, which no setting has; the message starts with path and line.
std::vector<TomlEntry> read_toml(const std::string& path);

// A text as a TOML value: in quotes, with what is special escaped.
std::string toml_quoted(const std::string& text);

}  // namespace baton
