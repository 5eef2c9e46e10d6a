#include "sim/cost/toml_node.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

TomlNode convert(const toml::node& node) {
  TomlNode out;
  out.line = node.source().begin.line;
  if (const auto* word = node.as_string()) {
    out.kind = TomlNode::Kind::word;
    out.word = word->get();
  } else if (const auto* whole = node.as_integer()) {
    out.kind = TomlNode::Kind::whole;
    out.whole = whole->get();
    out.real = static_cast<double>(whole->get());
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = TomlNode::Kind::real;
    out.real = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    out.kind = TomlNode::Kind::flag;
    out.flag = flag->get();
  } else if (const auto* list = node.as_array()) {
    out.kind = TomlNode::Kind::list;
    for (const toml::node& element : *list) {
      out.elements.push_back(convert(element));
    }
  } else if (const auto* table = node.as_table()) {
    out.kind = TomlNode::Kind::table;
    for (const auto& [key, value] : *table) {
      TomlNode field = convert(value);
      // A table that only its own sub-tables name has no place of its own; its key has.
      field.line =
          field.kind == TomlNode::Kind::table && key.source().begin.line != 0 ? key.source().begin.line : field.line;
      field.key = std::string(key.str());
      out.fields.push_back(std::move(field));
    }
    std::ranges::sort(out.fields, [](const TomlNode& a, const TomlNode& b) {
      return a.line != b.line ? a.line < b.line : a.key < b.key;
    });
  }
  return out;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view name) const noexcept {
  for (const TomlNode& field : fields) {
    if (field.key == name) {
      return &field;
    }
  }
  return nullptr;
}

TomlNode parse_toml(std::string_view text, const std::string& name) {
  try {
    return convert(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    throw Error(Errc::bad_file, fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

std::string toml_quoted_word(std::string_view text) {
  std::ostringstream out;
  out << toml::value<std::string>(std::string(text));
  return out.str();
}

std::string toml_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) {
    text += ".0";
  }
  return text;
}

}  // namespace baton::sim
