#include "tools/baton/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& wanted) {
  throw Error(Errc::invalid_argument, fmt::format("'{}' is not {}", text, wanted));
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// "12.5ms" is {12.5, "ms"}; nullopt where it does not begin with a number that is finite and not negative.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || std::signbit(value)) {
    return std::nullopt;
  }
  return std::pair(value, text.substr(static_cast<std::size_t>(end - text.data())));
}

struct ByteUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array kByteUnits = {ByteUnit{"TiB", 1ULL << 40},
                                   ByteUnit{"GiB", 1ULL << 30},
                                   ByteUnit{"MiB", 1ULL << 20},
                                   ByteUnit{"KiB", 1ULL << 10},
                                   ByteUnit{"TB", 1'000'000'000'000},
                                   ByteUnit{"GB", 1'000'000'000},
                                   ByteUnit{"MB", 1'000'000},
                                   ByteUnit{"KB", 1'000},
                                   ByteUnit{"B", 1},
                                   ByteUnit{std::string_view("", 0), 1}};

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array kTimeUnits = {TimeUnit{"", 1},      TimeUnit{"s", 1},  TimeUnit{"ms", 1e-3},
                                   TimeUnit{"us", 1e-6}, TimeUnit{"m", 60}, TimeUnit{"h", 3600}};

// How many letters are to be put in, taken out, replaced or swapped with their neighbour to get from one text to the
// other (Damerau and Levenshtein, in the restricted form where no place is edited twice).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> row(to.size() + 1, i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::uint64_t parse_count(const std::string& text, NumberBounds bounds) {
  const auto value = whole_number<std::uint64_t>(text);
  if (!value || *value < bounds.min || *value > bounds.max) {
    refuse(text, fmt::format("a whole number from {} to {}", bounds.min, bounds.max));
  }
  return *value;
}

double parse_real(const std::string& text, RealBounds bounds) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= bounds.min && value <= bounds.max)) {
    refuse(text, fmt::format("a number from {} to {}", bounds.min, bounds.max));
  }
  return value;
}

std::uint64_t parse_bytes(const std::string& text) {
  const auto parts = number_and_unit(text);
  if (parts) {
    for (const ByteUnit& unit : kByteUnits) {
      const double bytes = parts->first * static_cast<double>(unit.bytes);
      // 2^53: above it a double does not count single bytes any more, and no machine has that much memory.
      if (unit.name == parts->second && bytes <= 9007199254740992.0) {
        return static_cast<std::uint64_t>(bytes);
      }
    }
  }
  refuse(text, "an amount of memory such as 1GiB, 512MiB or 1073741824");
}

std::string bytes_text(std::uint64_t bytes) {
  for (const ByteUnit& unit : kByteUnits) {
    if (unit.bytes >= 1024 && unit.bytes % 1024 == 0 && bytes != 0 && bytes % unit.bytes == 0) {
      return fmt::format("{}{}", bytes / unit.bytes, unit.name);
    }
  }
  return std::to_string(bytes);
}

Duration parse_duration(const std::string& text) {
  constexpr double kYear = 366.0 * 24 * 3600;
  const auto parts = number_and_unit(text);
  if (parts) {
    for (const TimeUnit& unit : kTimeUnits) {
      const double seconds = parts->first * unit.seconds;
      if (unit.name == parts->second && seconds <= kYear) {
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
      }
    }
  }
  refuse(text, "a time such as 30s, 1.5s, 250ms or 2m (at most a year)");
}

std::string duration_text(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return seconds < 1 && seconds > 0 ? fmt::format("{:g}ms", seconds * 1e3) : fmt::format("{:g}s", seconds);
}

bool parse_flag(const std::string& text) {
  if (text != "true" && text != "false") {
    refuse(text, "true or false");
  }
  return text == "true";
}

std::string parse_word(const std::string& text, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) {
    return text;
  }
  const std::string meant = nearest(text, words);
  refuse(text, fmt::format("one of {}{}", joined_words(words), meant.empty() ? "" : "; did you mean " + meant + "?"));
}

std::string joined_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, "|"));
}

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t found = distance(text, candidate);
    if (found < best_distance) {
      best_distance = found;
      best = &candidate;
    }
  }
  if (best != nullptr || text.size() < 3) {
    return best == nullptr ? "" : *best;
  }
  // A word begun and not finished: "temp" for "temperature".
  const auto starts = std::find_if(candidates.begin(), candidates.end(),
                                   [text](const std::string& candidate) { return candidate.starts_with(text); });
  return starts == candidates.end() ? "" : *starts;
}

}  // namespace baton
