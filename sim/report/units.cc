#include "sim/report/units.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace baton::sim {
namespace {

constexpr std::array<const char*, 6> kBytes = {"B", "kB", "MB", "GB", "TB", "PB"};
constexpr double kManyCounts = 1e7;

}  // namespace

std::string significant(double value) {
  const double size = std::abs(value);
  if (size == 0.0) {
    return "0";
  }
  if (size >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  const int digits = 2 - static_cast<int>(std::floor(std::log10(size)));
  return fmt::format("{:.{}f}", value, digits > 9 ? 9 : digits);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) {
    return significant(seconds * 1e6) + " us";
  }
  if (seconds < 1.0) {
    return significant(seconds * 1e3) + " ms";
  }
  if (seconds < 120.0) {
    return significant(seconds) + " s";
  }
  const auto minutes = static_cast<std::uint64_t>(std::llround(seconds / 60.0));
  if (minutes < 120) {
    return fmt::format("{} min", minutes);
  }
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string bytes_text(double bytes) {
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kBytes.size()) {
    bytes /= 1000.0;
    ++unit;
  }
  return significant(bytes) + " " + kBytes[unit];
}

std::string count_text(double count) {
  if (count >= kManyCounts) {
    return significant(count / 1e6) + " M";
  }
  std::string digits = fmt::format("{:.0f}", count);
  for (std::size_t end = digits.size(); end > 3 && digits[end - 4] != '-'; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", share * 100.0);
}

}  // namespace baton::sim
