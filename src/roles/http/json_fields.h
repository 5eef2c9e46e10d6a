// Reads the fields of one JSON object into typed variables and remembers what was wrong first.
//
// An absent field and one that is null leave the variable as it is. After the first error every further call does
// nothing, so that a parser reads its fields in a row and looks once at the end. Errors name the field, what it must
// be, and the beginning of what was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "roles/http/api_error.h"
#include "runtime/ids.h"

namespace baton {

// The text as a JSON object, or 400: not JSON, nested deeper than 32, invalid UTF-8, another type than an object.
Parsed<boost::json::object> parse_json_object(std::string_view body);

// The beginning of the value as JSON, at most some 60 bytes: for error messages.
std::string excerpt(const boost::json::value& value);

class JsonFields final {
 public:
  // The object outlives the reader. `prefix` is put before field names in errors ("messages[2].").
  explicit JsonFields(const boost::json::object& object, std::string prefix = {});

  // Null when the field is absent, or null, or after an error.
  const boost::json::value* find(std::string_view name) const;

  void boolean(std::string_view name, bool& out);
  void string(std::string_view name, std::string& out);
  // A whole number in [least, most]; 16.0 counts as one, as in Python's API servers.
  template <class Int>
  void integer(std::string_view name, Int least, Int most, Int& out) {
    if (auto value = whole(name, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most))) {
      out = static_cast<Int>(*value);
    }
  }
  // A finite number in [least, most].
  void number(std::string_view name, float least, float most, float& out);
  // A list of at most `count_max` ids in [0, below).
  void ids(std::string_view name, std::size_t count_max, std::size_t below, std::vector<TokenId>& out);
  // A string or a list of at most `count_max` strings.
  void strings(std::string_view name, std::size_t count_max, std::vector<std::string>& out);

  // Records an error about the field with the value it had; `must` completes "<name> must ...".
  void refuse(std::string_view name, std::string_view must);
  // Records an error in words of the caller's own.
  void fail(std::string_view name, std::string message);
  void fail_with(ApiError error);

  bool failed() const noexcept { return error_.has_value(); }
  const ApiError& error() const { return *error_; }

 private:
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t least, std::int64_t most);

  const boost::json::object& object_;
  std::string prefix_;
  std::optional<ApiError> error_;
};

// The whole number a JSON value stands for, if it does.
std::optional<std::int64_t> whole_number(const boost::json::value& value) noexcept;
// The ids of a JSON list, or nothing if one of its members is not an id in [0, below).
std::optional<std::vector<TokenId>> token_ids(const boost::json::array& list, std::size_t below);

}  // namespace baton
