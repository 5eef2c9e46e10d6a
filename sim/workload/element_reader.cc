#include "sim/workload/element_reader.h"

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

bool ElementReader::next(std::string_view& text) {
  return is_list_ ? next_element(text) : next_line(text);
}

bool ElementReader::next_line(std::string_view& text) {
  while (lines_.next(text)) {
    if (!is_blank(text)) {
      number_ = lines_.number();
      return true;
    }
  }
  return false;
}

bool ElementReader::next_element(std::string_view& text) {
  element_.clear();
  while (!scan()) {
    if (!lines_.next(rest_)) {
      if (state_ != State::after) {
        refuse_row(place(), "the list does not close before the file ends");
      }
      return false;
    }
    if (state_ == State::inside) {
      element_ += ' ';  // what the end of a line is to JSON
    }
  }
  text = element_;
  return true;
}

bool ElementReader::scan() {
  while (!rest_.empty()) {
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    if (state_ == State::inside ? step_inside(letter) : step(letter)) {
      return true;
    }
  }
  return false;
}

// Between elements.
bool ElementReader::step(char letter) {
  if (letter == ' ' || letter == '\t' || letter == '\r') {
    return false;
  }
  if (state_ == State::before && letter == '[') {
    state_ = State::want_element;
  } else if (state_ == State::want_element && letter == '{') {
    state_ = State::inside;
    number_ = lines_.number();
    depth_ = 1;
    element_ += letter;
  } else if (state_ == State::want_comma && letter == ',') {
    state_ = State::want_element;
    first_ = false;
  } else if (letter == ']' && (state_ == State::want_comma || (state_ == State::want_element && first_))) {
    state_ = State::after;
  } else {
    refuse_field(place(), "list", std::string_view(&letter, 1), "a list of JSON objects is wanted");
  }
  return false;
}

bool ElementReader::step_inside(char letter) {
  if (element_.size() >= kLineBytesMax) {
    throw Error(Errc::bad_file,
                fmt::format("{}:{}: an element of more than {} bytes", lines_.name(), number_, kLineBytesMax));
  }
  element_ += letter;
  if (in_string_) {
    in_string_ = escaped_ || letter != '"';
    escaped_ = !escaped_ && letter == '\\';
    return false;
  }
  if (letter == '"') {
    in_string_ = true;
  } else if (letter == '{' || letter == '[') {
    ++depth_;
  } else if (letter == '}' || letter == ']') {
    --depth_;
  }
  if (depth_ > 0) {
    return false;
  }
  state_ = State::want_comma;
  return true;
}

}  // namespace baton::sim
