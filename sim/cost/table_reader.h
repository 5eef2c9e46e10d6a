// Takes the fields out of one TOML table, each with its type and range; what is left over at the end has no meaning and
// is refused. So a misspelt or unused setting never passes silently.
//
// Every refusal is an Error(invalid_argument) that starts with file, line and the full key, as in
// "cluster.toml:7: prefill.tp: a whole number from 1 to 1024 is wanted, not 0".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cost/toml_node.h"

namespace baton::sim {

struct NumberRange {
  double min = 0;
  double max = 0;
};
struct WholeRange {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

class TableReader final {
 public:
  // `prefix`: the key of this table with a dot behind it; empty for the top. `table` must outlive the reader.
  TableReader(const TomlNode& table, std::string file, std::string prefix = "");

  bool has(std::string_view key) const noexcept { return table_.find(key) != nullptr; }
  bool has_list(std::string_view key) const noexcept {
    const TomlNode* node = table_.find(key);
    return node != nullptr && node->kind == TomlNode::Kind::list;
  }

  double number(std::string_view key, NumberRange range);
  double number_or(std::string_view key, double otherwise, NumberRange range);
  std::uint64_t whole(std::string_view key, WholeRange range);
  std::uint64_t whole_or(std::string_view key, std::uint64_t otherwise, WholeRange range);
  std::uint32_t count(std::string_view key, WholeRange range) { return static_cast<std::uint32_t>(whole(key, range)); }
  std::uint32_t count_or(std::string_view key, std::uint32_t otherwise, WholeRange range) {
    return static_cast<std::uint32_t>(whole_or(key, otherwise, range));
  }
  bool flag_or(std::string_view key, bool otherwise);
  std::string word(std::string_view key);
  std::string word_or(std::string_view key, std::string_view otherwise);
  std::vector<double> numbers_or_none(std::string_view key, NumberRange range);
  std::vector<std::string> words_or_none(std::string_view key);

  // One of the words of `choices`, as its value.
  template <class Value, std::size_t kCount>
  Value choice(std::string_view key, const std::array<std::pair<std::string_view, Value>, kCount>& choices) {
    const std::string text = word(key);
    std::string known;
    for (const auto& [name, value] : choices) {
      if (text == name) {
        return value;
      }
      known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    refuse(key, "one of " + known + " is wanted, not \"" + text + "\"");
  }
  template <class Value, std::size_t kCount>
  Value choice_or(std::string_view key, Value otherwise,
                  const std::array<std::pair<std::string_view, Value>, kCount>& choices) {
    take(key);
    return has(key) ? choice(key, choices) : otherwise;
  }

  TableReader table(std::string_view key);  // refused if missing
  std::optional<TableReader> table_or_none(std::string_view key);
  std::vector<TableReader> tables_or_none(std::string_view key);  // of a list of tables: [[key]]
  std::vector<std::string> keys() const;                          // of all fields, for tables whose keys are free

  [[noreturn]] void refuse(std::string_view key, const std::string& why) const;

  // Refuses what no call above has asked for.
  void finish() const;

 private:
  const TomlNode* take(std::string_view key);
  const TomlNode& need(std::string_view key);
  double number_of(const TomlNode& node, std::string_view key, NumberRange range) const;

  const TomlNode& table_;
  std::string file_;
  std::string prefix_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace baton::sim
