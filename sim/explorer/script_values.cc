#include "sim/explorer/script_values.h"

#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace baton::chaos {
namespace {

struct TimeUnit {
  std::string_view name;
  std::int64_t nanoseconds;
};
// From the largest to the smallest.
constexpr std::array kTimeUnits = {TimeUnit{"s", 1'000'000'000}, TimeUnit{"ms", 1'000'000}, TimeUnit{"us", 1'000},
                                   TimeUnit{"ns", 1}};

template <class Number>
std::optional<Number> whole(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) {
    return std::nullopt;
  }
  return value;
}

// The digits after the point, in nanoseconds; none: they are no digits, or finer than a nanosecond.
std::optional<std::int64_t> fraction(std::string_view digits, std::int64_t unit) {
  std::int64_t sum = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9' || unit % 10 != 0) {
      return std::nullopt;
    }
    unit /= 10;
    sum += unit * (digit - '0');
  }
  return sum;
}

}  // namespace

std::string time_text(Duration time) {
  const std::int64_t count = time.count();
  if (count == 0) {
    return "0";
  }
  for (const TimeUnit& unit : kTimeUnits) {
    const std::int64_t finest = unit.nanoseconds / 1000;
    if (count < unit.nanoseconds || (finest > 0 && count % finest != 0)) {
      continue;
    }
    std::string text = std::to_string(count / unit.nanoseconds);
    if (finest > 0 && count % unit.nanoseconds != 0) {
      text += fmt::format(".{:03}", count % unit.nanoseconds / finest);
      text.erase(text.find_last_not_of('0') + 1);
    }
    return text.append(unit.name);
  }
  return std::to_string(count) + "ns";
}

std::optional<Duration> parse_time(std::string_view text) {
  if (text == "0") {
    return Duration{0};
  }
  const std::size_t letters = text.find_first_not_of("0123456789.");
  if (letters == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view number = text.substr(0, letters);
  const std::size_t point = number.find('.');
  for (const TimeUnit& unit : kTimeUnits) {
    if (text.substr(letters) != unit.name) {
      continue;
    }
    const auto before = whole<std::int64_t>(number.substr(0, point));
    const std::string_view digits = point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
    const auto after = fraction(digits, unit.nanoseconds);
    const bool pointless = point != std::string_view::npos && digits.empty();
    if (!before || !after || pointless || *before > std::numeric_limits<std::int64_t>::max() / unit.nanoseconds - 1) {
      return std::nullopt;
    }
    return Duration(*before * unit.nanoseconds + *after);
  }
  return std::nullopt;
}

std::optional<RankId> parse_rank(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto index = whole<std::uint32_t>(text.substr(slash + 1));
  for (const Role role : {Role::router, Role::prefill, Role::decode, Role::aggregated}) {
    if (index && text.substr(0, slash) == to_string(role)) {
      return RankId{role, *index};
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_wide(std::string_view text) {
  return text.starts_with("0x") ? whole<std::uint64_t>(text.substr(2), 16) : whole<std::uint64_t>(text);
}

}  // namespace baton::chaos
