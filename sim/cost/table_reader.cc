#include "sim/cost/table_reader.h"

#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

std::string text_of(const TomlNode& node) {
  switch (node.kind) {
    case TomlNode::Kind::word:
      return "\"" + node.word + "\"";
    case TomlNode::Kind::whole:
      return std::to_string(node.whole);
    case TomlNode::Kind::real:
      return fmt::format("{}", node.real);
    case TomlNode::Kind::flag:
      return node.flag ? "true" : "false";
    case TomlNode::Kind::list:
      return "a list";
    case TomlNode::Kind::table:
      return "a table";
    case TomlNode::Kind::other:
      break;
  }
  return "a date or time";
}

}  // namespace

TableReader::TableReader(const TomlNode& table, std::string file, std::string prefix)
    : table_(table), file_(std::move(file)), prefix_(std::move(prefix)) {}

double TableReader::number_of(const TomlNode& node, std::string_view key, NumberRange range) const {
  const bool is_number = node.kind == TomlNode::Kind::whole || node.kind == TomlNode::Kind::real;
  if (!is_number || !std::isfinite(node.real) || node.real < range.min || node.real > range.max) {
    refuse(key, fmt::format("a number from {:.12g} to {:.12g} is wanted, not {}", range.min, range.max, text_of(node)));
  }
  return node.real;
}

double TableReader::number(std::string_view key, NumberRange range) {
  return number_of(need(key), key, range);
}

double TableReader::number_or(std::string_view key, double otherwise, NumberRange range) {
  const TomlNode* node = take(key);
  return node == nullptr ? otherwise : number_of(*node, key, range);
}

std::uint64_t TableReader::whole(std::string_view key, WholeRange range) {
  const TomlNode& node = need(key);
  const bool fits = node.kind == TomlNode::Kind::whole && node.whole >= 0 &&
                    static_cast<std::uint64_t>(node.whole) >= range.min &&
                    static_cast<std::uint64_t>(node.whole) <= range.max;
  if (!fits) {
    refuse(key, fmt::format("a whole number from {} to {} is wanted, not {}", range.min, range.max, text_of(node)));
  }
  return static_cast<std::uint64_t>(node.whole);
}

std::uint64_t TableReader::whole_or(std::string_view key, std::uint64_t otherwise, WholeRange range) {
  return take(key) == nullptr ? otherwise : whole(key, range);
}

bool TableReader::flag_or(std::string_view key, bool otherwise) {
  const TomlNode* node = take(key);
  if (node == nullptr) {
    return otherwise;
  }
  if (node->kind != TomlNode::Kind::flag) {
    refuse(key, "true or false is wanted, not " + text_of(*node));
  }
  return node->flag;
}

std::string TableReader::word(std::string_view key) {
  const TomlNode& node = need(key);
  if (node.kind != TomlNode::Kind::word || node.word.empty()) {
    refuse(key, "a word in quotes is wanted, not " + text_of(node));
  }
  return node.word;
}

std::string TableReader::word_or(std::string_view key, std::string_view otherwise) {
  return take(key) == nullptr ? std::string(otherwise) : word(key);
}

std::vector<double> TableReader::numbers_or_none(std::string_view key, NumberRange range) {
  const TomlNode* node = take(key);
  std::vector<double> numbers;
  if (node == nullptr) {
    return numbers;
  }
  if (node->kind != TomlNode::Kind::list) {
    refuse(key, "a list of numbers is wanted, not " + text_of(*node));
  }
  for (const TomlNode& element : node->elements) {
    numbers.push_back(number_of(element, key, range));
  }
  return numbers;
}

std::vector<std::string> TableReader::words_or_none(std::string_view key) {
  const TomlNode* node = take(key);
  std::vector<std::string> words;
  if (node == nullptr) {
    return words;
  }
  if (node->kind != TomlNode::Kind::list) {
    refuse(key, "a list of words is wanted, not " + text_of(*node));
  }
  for (const TomlNode& element : node->elements) {
    if (element.kind != TomlNode::Kind::word) {
      refuse(key, "a list of words is wanted; it has " + text_of(element));
    }
    words.push_back(element.word);
  }
  return words;
}

TableReader TableReader::table(std::string_view key) {
  const TomlNode& node = need(key);
  if (node.kind != TomlNode::Kind::table) {
    refuse(key, "a table is wanted, not " + text_of(node));
  }
  return TableReader(node, file_, fmt::format("{}{}.", prefix_, key));
}

std::optional<TableReader> TableReader::table_or_none(std::string_view key) {
  return take(key) == nullptr ? std::nullopt : std::optional(table(key));
}

std::vector<TableReader> TableReader::tables_or_none(std::string_view key) {
  const TomlNode* node = take(key);
  std::vector<TableReader> tables;
  if (node == nullptr) {
    return tables;
  }
  if (node->kind != TomlNode::Kind::list) {
    refuse(key, fmt::format("a list of tables, each under [[{}{}]], is wanted", prefix_, key));
  }
  for (const TomlNode& element : node->elements) {
    if (element.kind != TomlNode::Kind::table) {
      refuse(key, "a list of tables is wanted; it has " + text_of(element));
    }
    tables.emplace_back(element, file_, fmt::format("{}{}[{}].", prefix_, key, tables.size()));
  }
  return tables;
}

std::vector<std::string> TableReader::keys() const {
  std::vector<std::string> all;
  for (const TomlNode& field : table_.fields) {
    all.push_back(field.key);
  }
  return all;
}

void TableReader::refuse(std::string_view key, const std::string& why) const {
  const TomlNode* node = table_.find(key);
  throw Error(Errc::invalid_argument,
              fmt::format("{}:{}: {}{}: {}", file_, node == nullptr ? table_.line : node->line, prefix_, key, why));
}

void TableReader::finish() const {
  for (const TomlNode& field : table_.fields) {
    if (!known_.contains(field.key)) {
      refuse(field.key, fmt::format("unknown; known here: {}", fmt::join(known_, ", ")));
    }
  }
}

const TomlNode* TableReader::take(std::string_view key) {
  known_.emplace(key);
  return table_.find(key);
}

const TomlNode& TableReader::need(std::string_view key) {
  const TomlNode* node = take(key);
  if (node == nullptr) {
    refuse(key, "missing");
  }
  return *node;
}

}  // namespace baton::sim
