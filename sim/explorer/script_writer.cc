#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/explorer/script.h"
#include "sim/explorer/script_fields.h"
#include "sim/explorer/script_values.h"

namespace baton::chaos {
namespace {

// Puts "key = value" lines or, inside of a table on one line, "key = value" pieces together.
class Writer final {
 public:
  void count(const char* key, std::uint32_t value, CountRange) { put(key, std::to_string(value)); }
  void count(const char* key, const std::optional<std::uint32_t>& value, CountRange range) {
    if (value) {
      count(key, *value, range);
    }
  }
  void wide(const char* key, std::uint64_t value) {
    constexpr std::uint64_t kTomlMax = std::numeric_limits<std::int64_t>::max();
    put(key, value <= kTomlMax ? std::to_string(value) : fmt::format("\"{:#x}\"", value));
  }
  void flag(const char* key, bool value) { put(key, value ? "true" : "false"); }
  void time(const char* key, Duration value) { put(key, quoted(time_text(value))); }
  void time(const char* key, const std::optional<Duration>& value) {
    if (value) {
      time(key, *value);
    }
  }
  void rate(const char* key, double value) { put(key, fmt::format("{}", value)); }
  void fault(const char* key, Fault value, std::span<const Fault>) { put(key, quoted(to_string(value))); }
  void traffic(const char* key, Traffic value) { put(key, quoted(to_string(value))); }
  void rank(const char* key, RankId value) { put(key, quoted(to_string(value))); }

  void keys(const char* key, const std::optional<std::vector<std::uint64_t>>& values) {
    if (values) {
      std::vector<std::string> words;
      for (const std::uint64_t value : *values) {
        words.push_back(fmt::format("\"{:#018x}\"", value));
      }
      put_rows(key, words);
    }
  }
  template <class Fields>
  void table(const char* key, Fields& fields) {
    put(key, one_line(fields));
  }
  template <class Fields>
  void list(const char* key, std::vector<Fields>& elements, std::size_t) {
    std::vector<std::string> rows;
    for (Fields& fields : elements) {
      rows.push_back(one_line(fields));
    }
    put_rows(key, rows);
  }

  std::string lines() const { return fmt::format("{}\n", fmt::join(pieces_, "\n")); }

 private:
  template <class Fields>
  static std::string one_line(Fields& fields) {
    Writer writer;
    visit_fields(writer, fields);
    return fmt::format("{{ {} }}", fmt::join(writer.pieces_, ", "));
  }
  static std::string quoted(const std::string& word) { return fmt::format("\"{}\"", word); }
  void put(const char* key, const std::string& value) { pieces_.push_back(fmt::format("{} = {}", key, value)); }
  void put_rows(const char* key, const std::vector<std::string>& rows) {
    put(key, rows.empty() ? "[]" : fmt::format("[\n  {},\n]", fmt::join(rows, ",\n  ")));
  }

  std::vector<std::string> pieces_;
};

}  // namespace

std::string script_text(const Scenario& scenario, const std::string& heading) {
  std::string text;
  std::istringstream lines(heading);
  for (std::string line; std::getline(lines, line);) {
    text += line.empty() ? "#\n" : "# " + line + "\n";
  }
  Scenario fields = scenario;
  Writer writer;
  visit_fields(writer, fields);
  return text + writer.lines();
}

}  // namespace baton::chaos
