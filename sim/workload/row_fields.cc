#include "sim/workload/row_fields.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/errors.h"
#include "runtime/random.h"

namespace baton::sim {
namespace {

constexpr std::size_t kShownMax = 60;
constexpr double kTimeMax = 9.2e18;  // nanoseconds, below 2^63

std::string shown(std::string_view text) {
  std::string clean;
  for (const char letter : text.substr(0, kShownMax)) {
    clean += letter >= ' ' && letter != '\x7f' ? letter : '?';
  }
  return text.size() > kShownMax ? clean + "..." : clean;
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// Digits from `at` on, which is moved behind them. Nothing: there are none, or more than 64 bits hold.
std::optional<std::uint64_t> digits(std::string_view text, std::size_t& at) {
  std::uint64_t value = 0;
  const char* begin = text.data() + at;
  if (at >= text.size() || !is_digit(text[at])) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc()) {
    return std::nullopt;
  }
  at += static_cast<std::size_t>(end - begin);
  return value;
}

// The digits behind a point as a part of `unit`, rounded half up; `at` is moved behind them.
std::int64_t fraction(std::string_view text, std::size_t& at, std::int64_t unit) {
  std::int64_t scale = unit;
  std::int64_t value = 0;
  bool rounded = false;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    const std::int64_t digit = text[at] - '0';
    if (scale % 10 == 0) {
      scale /= 10;
      value += digit * scale;
    } else if (!rounded) {  // units are powers of ten, so the scale is 1 here
      value += digit >= 5 ? 1 : 0;
      rounded = true;
    }
  }
  return value;
}

std::optional<Duration> time_of_double(double value, std::int64_t unit) {
  const double nanoseconds = value * static_cast<double>(unit);
  if (!(nanoseconds >= 0 && nanoseconds < kTimeMax)) {  // not a number, too
    return std::nullopt;
  }
  return Duration(std::llround(nanoseconds));
}

std::optional<Duration> time_of_text(std::string_view text, std::int64_t unit) {
  std::size_t at = 0;
  const auto whole = digits(text, at);
  if (whole && *whole < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / unit - 1)) {
    std::int64_t value = static_cast<std::int64_t>(*whole) * unit;
    if (at < text.size() && text[at] == '.') {
      value += fraction(text, ++at, unit);
    }
    if (at == text.size()) {
      return Duration(value);
    }
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return time_of_double(value, unit);
}

std::string tokens_wanted(std::uint32_t min) {
  return fmt::format("a whole number from {} to {} is wanted", min, kTokensMax);
}

// One part of a date: exactly `width` digits from min to max, then what follows it.
bool date_part(std::string_view text, std::size_t& at, std::size_t width, unsigned min, unsigned max, unsigned& value) {
  if (text.size() < at + width) {
    return false;
  }
  value = 0;
  for (std::size_t i = 0; i < width; ++i, ++at) {
    if (!is_digit(text[at])) {
      return false;
    }
    value = value * 10 + static_cast<unsigned>(text[at] - '0');
  }
  return value >= min && value <= max;
}

bool literal(std::string_view text, std::size_t& at, std::string_view one_of) {
  return at < text.size() && one_of.find(text[at++]) != std::string_view::npos;
}

// "Z", "+hh:mm", "-hh:mm" or nothing, up to the end of the text.
std::optional<Duration> zone(std::string_view text, std::size_t at) {
  if (at == text.size() || text.substr(at) == "Z") {
    return Duration{0};
  }
  const bool west = text[at] == '-';
  unsigned hours = 0;
  unsigned minutes = 0;
  if (!literal(text, at, "+-") || !date_part(text, at, 2, 0, 14, hours) || !literal(text, at, ":") ||
      !date_part(text, at, 2, 0, 59, minutes) || at != text.size()) {
    return std::nullopt;
  }
  const Duration offset = std::chrono::minutes(hours * 60 + minutes);
  return west ? -offset : offset;
}

std::optional<Duration> date_time(std::string_view text) {
  std::size_t at = 0;
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  const bool parsed =
      date_part(text, at, 4, 1970, 2200, year) && literal(text, at, "-") && date_part(text, at, 2, 1, 12, month) &&
      literal(text, at, "-") && date_part(text, at, 2, 1, 31, day) && literal(text, at, " T") &&
      date_part(text, at, 2, 0, 23, hour) && literal(text, at, ":") && date_part(text, at, 2, 0, 59, minute) &&
      literal(text, at, ":") && date_part(text, at, 2, 0, 60, second);
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!parsed || !date.ok()) {
    return std::nullopt;
  }
  Duration time = std::chrono::sys_days(date).time_since_epoch();
  time += std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
  if (at < text.size() && text[at] == '.') {
    time += Duration(fraction(text, ++at, 1'000'000'000));
  }
  const auto offset = zone(text, at);
  if (!offset || *offset > time) {
    return std::nullopt;
  }
  return time - *offset;
}

}  // namespace

void refuse_field(const RowPlace& place, std::string_view field, std::string_view value, std::string_view why) {
  throw Error(Errc::invalid_argument,
              fmt::format("{}:{}: {}: '{}': {}", place.file, place.line, field, shown(value), why));
}

void refuse_row(const RowPlace& place, std::string_view why) {
  throw Error(Errc::invalid_argument, fmt::format("{}:{}: {}", place.file, place.line, why));
}

std::uint32_t parse_tokens(const RowPlace& place, std::string_view field, std::string_view text, std::uint32_t min) {
  std::size_t at = 0;
  const auto value = digits(text, at);
  if (at < text.size() && text[at] == '.') {
    at = std::min(text.find_first_not_of('0', at + 1), text.size());
  }
  if (!value || at != text.size() || *value < min || *value > kTokensMax) {
    refuse_field(place, field, text, tokens_wanted(min));
  }
  return static_cast<std::uint32_t>(*value);
}

Duration parse_time(const RowPlace& place, std::string_view field, std::string_view text, std::int64_t unit) {
  const auto time = time_of_text(text, unit);
  if (!time) {
    refuse_field(place, field, text, "a time that is a number and not negative is wanted");
  }
  return *time;
}

Duration parse_date_time(const RowPlace& place, std::string_view field, std::string_view text) {
  const auto time = date_time(text);
  if (!time) {
    refuse_field(place, field, text, "a date and time such as 2023-11-16 18:17:03.9799600 is wanted");
  }
  return *time;
}

std::uint64_t id_of(std::string_view text) noexcept {
  std::size_t at = 0;
  const auto number = digits(text, at);
  if (number && at == text.size() && *number < (1ULL << 63)) {
    return *number + 1;
  }
  std::uint64_t state = text.size();
  for (const char letter : text) {
    state = splitmix64(state) ^ static_cast<unsigned char>(letter);
  }
  return splitmix64(state) | (1ULL << 63);
}

const boost::json::value* find_field(const boost::json::object& row, std::string_view key) noexcept {
  const boost::json::value* value = row.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const boost::json::value& get_field(const RowPlace& place, const boost::json::object& row, std::string_view key) {
  const boost::json::value* value = find_field(row, key);
  if (value == nullptr) {
    refuse_row(place, fmt::format("{} is missing", key));
  }
  return *value;
}

std::uint32_t json_tokens(const RowPlace& place, std::string_view field, const boost::json::value& value,
                          std::uint32_t min) {
  if (const std::int64_t* number = value.if_int64(); number != nullptr && *number >= min && *number <= kTokensMax) {
    return static_cast<std::uint32_t>(*number);
  }
  const double* real = value.if_double();
  if (real == nullptr || *real != std::floor(*real) || !(*real >= min && *real <= kTokensMax)) {
    refuse_field(place, field, boost::json::serialize(value), tokens_wanted(min));
  }
  return static_cast<std::uint32_t>(*real);
}

Duration json_time(const RowPlace& place, std::string_view field, const boost::json::value& value, std::int64_t unit) {
  std::optional<Duration> time;
  if (const std::int64_t* number = value.if_int64()) {
    const bool fits = *number >= 0 && *number <= std::numeric_limits<std::int64_t>::max() / unit;
    time = fits ? std::optional(Duration(*number * unit)) : std::nullopt;
  } else if (const double* real = value.if_double()) {
    time = time_of_double(*real, unit);
  }
  if (!time) {
    refuse_field(place, field, boost::json::serialize(value), "a time that is a number and not negative is wanted");
  }
  return *time;
}

std::uint64_t json_id(const RowPlace& place, std::string_view field, const boost::json::value& value) {
  if (const boost::json::string* text = value.if_string()) {
    return id_of(std::string_view(text->data(), text->size()));
  }
  if (value.is_int64() || value.is_uint64()) {
    return id_of(boost::json::serialize(value));
  }
  refuse_field(place, field, boost::json::serialize(value), "a word or a whole number is wanted");
}

}  // namespace baton::sim
