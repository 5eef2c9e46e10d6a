#include "sim/cost/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "runtime/text_file.h"

namespace baton::sim {
namespace {

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

CsvTable CsvTable::read(const std::string& path) {
  return parse(read_text_file(path), path);
}

CsvTable CsvTable::parse(std::string_view text, const std::string& name) {
  CsvTable table;
  table.name_ = name;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      continue;
    }
    std::vector<std::string> cells = split(line);
    if (table.columns_.empty()) {
      table.columns_ = std::move(cells);
      continue;
    }
    if (cells.size() != table.columns_.size()) {
      throw Error(Errc::bad_file, fmt::format("{}:{}: {} fields, but the header has {}", name, number, cells.size(),
                                              table.columns_.size()));
    }
    std::ranges::move(cells, std::back_inserter(table.cells_));
    table.lines_.push_back(number);
  }
  if (table.lines_.empty()) {
    throw Error(Errc::bad_file, fmt::format("{}: a header and at least one row are wanted", name));
  }
  return table;
}

std::size_t CsvTable::column(std::string_view wanted) const {
  const auto found = std::ranges::find(columns_, wanted);
  if (found == columns_.end()) {
    throw Error(Errc::bad_file,
                fmt::format("{}:1: there is no column '{}'; it has {}", name_, wanted, fmt::join(columns_, ", ")));
  }
  return static_cast<std::size_t>(found - columns_.begin());
}

double CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& text = word(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0) {
    throw Error(Errc::bad_file, fmt::format("{}:{}: {}: a number that is not negative is wanted, not '{}'", name_,
                                            line(row), columns_[column], text));
  }
  return value;
}

}  // namespace baton::sim
