// One line of comma separated values (RFC 4180): fields may stand in quotes, with "" for a quote inside. A field does
// not go over the end of a line.
//
// A value; keeps its memory from row to row. Single thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/row_fields.h"

namespace baton::sim {

class CsvRow final {
 public:
  // Splits a line. The fields are valid until the next call and while the line is. An unquoted field loses the blanks
  // around it. False: quotes that do not close, or text behind them.
  bool split(std::string_view line);

  // split() for a row of a file. Throws Error(invalid_argument) with the place for a line that cannot be split, and for
  // one that has not as many fields as `columns`, the header's number; 0: it is the header.
  void read(const RowPlace& place, std::string_view line, std::size_t columns);

  const std::vector<std::string_view>& fields() const noexcept { return fields_; }
  std::size_t size() const noexcept { return fields_.size(); }
  std::string_view operator[](std::size_t index) const { return fields_[index]; }

 private:
  bool quoted_field(std::string_view line, std::size_t& at);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // fields in which quotes were doubled; reserved, so that it never moves
};

}  // namespace baton::sim
