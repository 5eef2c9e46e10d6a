#include "sim/workload/spec_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

constexpr double kYear = 366.0 * 86400;

std::optional<double> real_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

SpecWords spec_words(const std::string& text) {
  SpecWords words;
  const std::size_t colon = text.find(':');
  words.kind = text.substr(0, colon);
  for (std::size_t at = colon; at != std::string::npos;) {
    const std::size_t comma = text.find(',', at + 1);
    words.arguments.push_back(text.substr(at + 1, comma == std::string::npos ? comma : comma - at - 1));
    at = comma;
  }
  return words;
}

double spec_real(const std::string& text, double min, double max) {
  const auto value = real_of(text);
  if (!value || !(*value >= min && *value <= max)) {
    throw Error(Errc::invalid_argument, fmt::format("'{}': a number from {} to {} is wanted", text, min, max));
  }
  return *value;
}

std::uint64_t spec_count(const std::string& text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    throw Error(Errc::invalid_argument, fmt::format("'{}': a whole number from {} to {} is wanted", text, min, max));
  }
  return value;
}

Duration spec_time(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, double>, 6> kUnits{
      {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}}};
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) {
      continue;
    }
    const auto value = real_of(std::string_view(text).substr(0, text.size() - unit.size()));
    if (!value || !(*value >= 0 && *value * factor <= kYear)) {
      break;
    }
    return Duration(std::llround(*value * factor * 1e9));
  }
  throw Error(Errc::invalid_argument, fmt::format("'{}': a time such as 90s, 1.5s, 250ms, 2m or 1h is wanted", text));
}

}  // namespace baton::sim
