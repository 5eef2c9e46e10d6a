// How long prompts, answers, conversations and pauses are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/random.h"
#include "runtime/time.h"

namespace baton::sim {

enum class LengthKind : std::uint8_t { fixed, uniform, exponential, log_normal };

struct LengthSpec {
  LengthKind kind = LengthKind::fixed;
  double first = 1;   // the mean, or uniform's least
  double second = 0;  // uniform's most, log_normal's coefficient of variation
  std::string text = "1";
};

// "1000" or "fixed:1000", "uniform:100,2000", "exponential:MEAN", "lognormal:MEAN,CV". Values from 1 to `max`. Throws
// Error(invalid_argument).
LengthSpec parse_length(const std::string& text, std::uint32_t max);

// Rounded, and moved into 1..max. What is cut off by that moves the mean.
std::uint32_t draw_length(const LengthSpec& spec, Random& random, std::uint32_t max) noexcept;

// A pause: "10s", "exponential:10s", "lognormal:10s,CV".
struct PauseSpec {
  LengthKind kind = LengthKind::fixed;
  Duration mean{};
  double cv = 0;
  std::string text = "0s";
};

PauseSpec parse_pause(const std::string& text);
Duration draw_pause(const PauseSpec& spec, Random& random) noexcept;  // at most a day

// Prompt and answer lengths of a trace of any format but servegen, as pairs; rows without an answer are left out.
// Throws what reading throws, and Error(invalid_argument) when nothing is left.
std::vector<std::pair<std::uint32_t, std::uint32_t>> read_lengths(const std::string& path);

}  // namespace baton::sim
