#include "sim/workload/csv_row.h"

#include <algorithm>

#include <fmt/format.h>

namespace baton::sim {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool CsvRow::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());
  std::size_t at = 0;
  while (true) {
    const std::size_t first = line.find_first_not_of(" \t", at);
    if (first != std::string_view::npos && line[first] == '"') {
      at = first + 1;
      if (!quoted_field(line, at)) {
        return false;
      }
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      fields_.push_back(trimmed(line.substr(at, comma - at)));
      at = comma;
    }
    if (at == line.size()) {
      return true;
    }
    ++at;  // the comma
  }
}

// `at` stands behind the opening quote, and is left at the comma or the end.
bool CsvRow::quoted_field(std::string_view line, std::size_t& at) {
  const std::size_t begin = unquoted_.size();
  while (true) {
    const std::size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      return false;
    }
    unquoted_.append(line, at, quote - at);
    at = quote + 1;
    if (at == line.size() || line[at] != '"') {
      break;
    }
    unquoted_.push_back('"');
    ++at;
  }
  fields_.push_back(std::string_view(unquoted_).substr(begin));
  at = std::min(line.find_first_not_of(" \t", at), line.size());
  return at == line.size() || line[at] == ',';
}

void CsvRow::read(const RowPlace& place, std::string_view line, std::size_t columns) {
  if (!split(line)) {
    refuse_row(place, "quotes that do not close in this line");
  }
  if (columns != 0 && size() != columns) {
    refuse_row(place, fmt::format("{} fields, where the header has {}", size(), columns));
  }
}

}  // namespace baton::sim
