#include "tools/baton/toml_file.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "runtime/errors.h"

namespace baton {
namespace {

std::string text_of(const toml::node& node, const std::string& place) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* real = node.as_floating_point()) {
    return fmt::format("{}", real->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return flag->get() ? "true" : "false";
  }
  throw Error(Errc::bad_file, fmt::format("{}: a value is a word, a number, true or false, not {}", place,
                                          node.is_table() ? "a table" : "this"));
}

}  // namespace

std::vector<TomlEntry> read_toml(const std::string& path) {
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    throw Error(Errc::bad_file, line == 0 ? fmt::format("{}: {}", path, error.description())
                                          : fmt::format("{}:{}: {}", path, line, error.description()));
  }
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : table) {
    TomlEntry entry{std::string(key.str()), key.source().begin.line, {}, false};
    const std::string place = fmt::format("{}:{}: {}", path, entry.line, entry.key);
    if (const auto* list = node.as_array()) {
      entry.is_list = true;
      for (const toml::node& element : *list) {
        entry.values.push_back(text_of(element, place));
      }
    } else {
      entry.values.push_back(text_of(node, place));
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const TomlEntry& a, const TomlEntry& b) { return a.line < b.line; });
  return entries;
}

std::string toml_quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

}  // namespace baton
