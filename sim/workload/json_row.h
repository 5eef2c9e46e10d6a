// One JSON object per row, parsed into memory that is kept from row to row.
//
// Owner: one reader. Single thread.
#pragma once

#include <array>
#include <string_view>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>

#include "sim/workload/row_fields.h"

namespace baton::sim {

class JsonRow final {
 public:
  JsonRow();
  JsonRow(const JsonRow&) = delete;
  JsonRow& operator=(const JsonRow&) = delete;

  // The object is valid until the next call. Throws Error(invalid_argument) for text that is no JSON object, with the
  // column where it stops being JSON.
  const boost::json::object& parse(const RowPlace& place, std::string_view text);

 private:
  std::array<unsigned char, 64 * 1024> memory_;
  std::array<unsigned char, 4 * 1024> scratch_;
  boost::json::monotonic_resource resource_;
  boost::json::parser parser_;
  boost::json::value value_;
};

}  // namespace baton::sim
