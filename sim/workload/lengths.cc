#include "sim/workload/lengths.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/workload/draws.h"
#include "sim/workload/spec_text.h"
#include "sim/workload/trace_reader.h"

namespace baton::sim {
namespace {

constexpr double kCvMax = 100;
constexpr double kPauseMax = 86400e9;  // ns

[[noreturn]] void refuse_length(const std::string& text) {
  throw Error(Errc::invalid_argument,
              fmt::format("'{}': a number, uniform:LEAST,MOST, exponential:MEAN or lognormal:MEAN,CV is wanted", text));
}

}  // namespace

LengthSpec parse_length(const std::string& text, std::uint32_t max) {
  const SpecWords words = spec_words(text);
  LengthSpec spec;
  spec.text = text;
  const std::size_t given = words.arguments.size();
  if (given == 0) {
    spec.first = static_cast<double>(spec_count(text, 1, max));
    return spec;
  }
  if (words.kind == "fixed" && given == 1) {
    spec.first = static_cast<double>(spec_count(words.arguments[0], 1, max));
  } else if (words.kind == "uniform" && given == 2) {
    spec.kind = LengthKind::uniform;
    const std::uint64_t least = spec_count(words.arguments[0], 1, max);
    spec.first = static_cast<double>(least);
    spec.second = static_cast<double>(spec_count(words.arguments[1], least, max));
  } else if (words.kind == "exponential" && given == 1) {
    spec.kind = LengthKind::exponential;
    spec.first = spec_real(words.arguments[0], 1, max);
  } else if (words.kind == "lognormal" && given == 2) {
    spec.kind = LengthKind::log_normal;
    spec.first = spec_real(words.arguments[0], 1, max);
    spec.second = spec_real(words.arguments[1], 0, kCvMax);
  } else {
    refuse_length(text);
  }
  return spec;
}

std::uint32_t draw_length(const LengthSpec& spec, Random& random, std::uint32_t max) noexcept {
  double value = spec.first;
  switch (spec.kind) {
    case LengthKind::fixed:
      break;
    case LengthKind::uniform:
      value += static_cast<double>(random.uniform(static_cast<std::uint64_t>(spec.second - spec.first) + 1));
      break;
    case LengthKind::exponential:
      value = draw_exponential(random, spec.first);
      break;
    case LengthKind::log_normal:
      value = draw_log_normal(random, spec.first, spec.second);
      break;
  }
  return static_cast<std::uint32_t>(std::clamp(std::round(value), 1.0, static_cast<double>(max)));
}

PauseSpec parse_pause(const std::string& text) {
  const SpecWords words = spec_words(text);
  PauseSpec spec;
  spec.text = text;
  if (words.arguments.empty()) {
    spec.mean = spec_time(text);
  } else if (words.kind == "exponential" && words.arguments.size() == 1) {
    spec.kind = LengthKind::exponential;
    spec.mean = spec_time(words.arguments[0]);
  } else if (words.kind == "lognormal" && words.arguments.size() == 2) {
    spec.kind = LengthKind::log_normal;
    spec.mean = spec_time(words.arguments[0]);
    spec.cv = spec_real(words.arguments[1], 0, kCvMax);
  } else {
    throw Error(Errc::invalid_argument,
                fmt::format("'{}': a time such as 10s, exponential:10s or lognormal:10s,CV is wanted", text));
  }
  return spec;
}

Duration draw_pause(const PauseSpec& spec, Random& random) noexcept {
  auto value = static_cast<double>(spec.mean.count());
  if (spec.kind == LengthKind::exponential) {
    value = draw_exponential(random, value);
  } else if (spec.kind == LengthKind::log_normal) {
    value = draw_log_normal(random, value, spec.cv);
  }
  return Duration(std::llround(std::min(value, kPauseMax)));
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> read_lengths(const std::string& path) {
  ReadOptions options;
  options.any_order = true;
  TraceReader reader(open_input(path), options);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  while (const auto row = reader.next()) {
    if (row->request.output_tokens > 0) {
      pairs.emplace_back(row->request.input_tokens, row->request.output_tokens);
    }
  }
  if (pairs.empty()) {
    throw Error(Errc::invalid_argument, fmt::format("{}: no request in it has an answer", path));
  }
  return pairs;
}

}  // namespace baton::sim
