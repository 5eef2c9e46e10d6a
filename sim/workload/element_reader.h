// The texts of a file's JSON values: a line each, or the elements of one list.
//
// Owner: one reader. Memory: the longest element, and the longest line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/workload/line_reader.h"
#include "sim/workload/row_fields.h"

namespace baton::sim {

class ElementReader final {
 public:
  // The line reader outlives this. is_list: the file is one JSON list of objects instead of lines.
  ElementReader(LineReader& lines, bool is_list) : lines_(lines), is_list_(is_list) {}

  // The next text that is not blank, valid until the next call; what number() says afterwards is the line where it
  // begins. False: the end. Throws Error(invalid_argument) for a list that does not close or holds other things.
  bool next(std::string_view& text);

  std::uint64_t number() const noexcept { return number_; }

 private:
  enum class State : std::uint8_t { before, want_element, want_comma, inside, after };

  bool next_line(std::string_view& text);
  bool next_element(std::string_view& text);
  bool scan();  // goes on in the line; true: element_ is whole
  bool step(char letter);
  bool step_inside(char letter);
  RowPlace place() const { return {lines_.name(), lines_.number()}; }

  LineReader& lines_;
  bool is_list_;
  std::uint64_t number_ = 0;
  State state_ = State::before;
  unsigned depth_ = 0;  // of braces and brackets inside the element
  bool in_string_ = false;
  bool escaped_ = false;
  bool first_ = true;
  std::string_view rest_;  // of the line
  std::string element_;
};

}  // namespace baton::sim
