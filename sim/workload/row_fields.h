// Values of a trace's row from text or JSON, with bounds, and the one way to refuse one.
//
// All throw Error(invalid_argument): "trace.csv:12: ContextTokens: '-3': a whole number from 1 to 16777216 is wanted".
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "runtime/time.h"

namespace baton::sim {

inline constexpr std::uint32_t kTokensMax = 1U << 24;                  // of a request, either way
inline constexpr Duration kArrivalMax = std::chrono::hours(24 * 366);  // from the start of a trace

struct RowPlace {
  std::string_view file;
  std::uint64_t line = 0;
};

// `value` is shown shortened, without what a terminal would take for a command.
[[noreturn]] void refuse_field(const RowPlace& place, std::string_view field, std::string_view value,
                               std::string_view why);
[[noreturn]] void refuse_row(const RowPlace& place, std::string_view why);

// A count of tokens from `min` to kTokensMax. A whole number may be written with zeros behind a point, as pandas does.
std::uint32_t parse_tokens(const RowPlace& place, std::string_view field, std::string_view text, std::uint32_t min);

// A decimal number of units of `unit` ns, not negative, exact to the nanosecond where it has no exponent. At most 292
// years.
Duration parse_time(const RowPlace& place, std::string_view field, std::string_view text, std::int64_t unit);

// "2023-11-16 18:17:03.9799600", with up to 9 digits behind the point, perhaps a zone ("Z", "+08:00"): since 1970 UTC.
Duration parse_date_time(const RowPlace& place, std::string_view field, std::string_view text);

// A text as an id that is never 0 and the same for the same text: a number below 2^63 becomes itself plus one, which
// keeps what is short in a file short in a log.
std::uint64_t id_of(std::string_view text) noexcept;

// The same from JSON. get_: the key must be there; find_: absent or null is nothing (0, or zero time).
const boost::json::value* find_field(const boost::json::object& row, std::string_view key) noexcept;
const boost::json::value& get_field(const RowPlace& place, const boost::json::object& row, std::string_view key);
std::uint32_t json_tokens(const RowPlace& place, std::string_view field, const boost::json::value& value,
                          std::uint32_t min);
Duration json_time(const RowPlace& place, std::string_view field, const boost::json::value& value, std::int64_t unit);
std::uint64_t json_id(const RowPlace& place, std::string_view field, const boost::json::value& value);

}  // namespace baton::sim
