#include "sim/workload/json_row.h"

#include <memory>

#include <fmt/format.h>

namespace baton::sim {
namespace {

boost::json::parse_options options() {
  boost::json::parse_options options;
  options.max_depth = 8;
  return options;
}

}  // namespace

JsonRow::JsonRow()
    : resource_(memory_.data(), memory_.size()), parser_({}, options(), scratch_.data(), scratch_.size()) {}

const boost::json::object& JsonRow::parse(const RowPlace& place, std::string_view text) {
  // The old value goes before the memory it lies in.
  std::destroy_at(&value_);
  std::construct_at(&value_);
  resource_.release();
  parser_.reset(&resource_);
  boost::json::error_code error;
  const std::size_t used = parser_.write_some(text, error);
  if (error) {
    refuse_row(place, fmt::format("no JSON at column {}: {}", used + 1, error.message()));
  }
  if (const std::size_t rest = text.find_first_not_of(" \t\r", used); rest != std::string_view::npos) {
    refuse_row(place, fmt::format("more behind the JSON at column {}", rest + 1));
  }
  std::destroy_at(&value_);
  std::construct_at(&value_, parser_.release());
  if (!value_.is_object()) {
    refuse_row(place, "a JSON object is wanted");
  }
  return value_.get_object();
}

}  // namespace baton::sim
