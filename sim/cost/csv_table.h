// A small CSV file of measurements: a header of column names, then rows of numbers and words without quotes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace baton::sim {

class CsvTable final {
 public:
  // Throws Error(bad_file) with file and line for a row of another width than the header, a file without rows, and
  // Error(not_found) for one that cannot be read.
  static CsvTable read(const std::string& path);
  static CsvTable parse(std::string_view text, const std::string& name);

  std::size_t rows() const noexcept { return cells_.size() / columns_.size(); }

  // The index of a column; throws Error(bad_file) that lists what there is.
  std::size_t column(std::string_view name) const;

  const std::string& word(std::size_t row, std::size_t column) const { return cells_[row * columns_.size() + column]; }
  // A finite number that is not negative; throws Error(bad_file) with file, line, column and what stands there.
  double number(std::size_t row, std::size_t column) const;

  const std::string& name() const noexcept { return name_; }
  std::size_t line(std::size_t row) const noexcept { return lines_[row]; }

 private:
  CsvTable() = default;

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::string> cells_;
  std::vector<std::size_t> lines_;
};

}  // namespace baton::sim
