#include "sim/workload/arrivals.h"

#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/workload/draws.h"
#include "sim/workload/row_fields.h"
#include "sim/workload/spec_text.h"

namespace baton::sim {
namespace {

constexpr double kRateMin = 1e-6;
constexpr double kRateMax = 1e7;
constexpr double kCvMax = 100;
constexpr double kRequestsPerCycleMin = 1e-3;  // else looking for the next one takes as long as it likes

void want(const SpecWords& words, std::size_t count) {
  if (words.arguments.size() != count) {
    throw Error(Errc::invalid_argument, fmt::format("'{}' takes {} value{}, not {}", words.kind, count,
                                                    count == 1 ? "" : "s", words.arguments.size()));
  }
}

Duration positive_time(const std::string& text) {
  const Duration time = spec_time(text);
  if (time <= Duration{0}) {
    throw Error(Errc::invalid_argument, fmt::format("'{}': a phase takes some time", text));
  }
  return time;
}

}  // namespace

ArrivalSpec parse_arrivals(const std::string& text) {
  const SpecWords words = spec_words(text);
  ArrivalSpec spec;
  spec.text = text;
  if (words.kind == "constant" || words.kind == "poisson") {
    want(words, 1);
    spec.kind = words.kind == "constant" ? ArrivalKind::constant : ArrivalKind::poisson;
  } else if (words.kind == "gamma") {
    want(words, 2);
    spec.kind = ArrivalKind::gamma;
    spec.cv = spec_real(words.arguments[1], 0, kCvMax);
  } else if (words.kind == "onoff") {
    want(words, 3);
    spec.kind = ArrivalKind::on_off;
    spec.on = positive_time(words.arguments[1]);
    spec.off = positive_time(words.arguments[2]);
  } else {
    throw Error(Errc::invalid_argument,
                fmt::format("'{}': constant:RATE, poisson:RATE, gamma:RATE,CV or onoff:RATE,ON,OFF is wanted, with "
                            "requests a second",
                            text));
  }
  spec.rate = spec_real(words.arguments[0], kRateMin, kRateMax);
  if (spec.kind == ArrivalKind::on_off && spec.rate * seconds(spec.on + spec.off) < kRequestsPerCycleMin) {
    throw Error(Errc::invalid_argument,
                fmt::format("'{}': fewer than {} requests in a cycle of both phases", text, kRequestsPerCycleMin));
  }
  return spec;
}

ArrivalProcess::ArrivalProcess(const ArrivalSpec& spec, Random random) : spec_(spec), random_(random) {
  phase_end_ = spec.kind == ArrivalKind::on_off ? draw_exponential(random_, seconds(spec.on)) : 0;
}

Duration ArrivalProcess::next() {
  const auto time = next_before(kArrivalMax);
  if (!time) {
    throw Error(Errc::invalid_argument,
                fmt::format("'{}': the last of these requests would come after more than a year", spec_.text));
  }
  return *time;
}

std::optional<Duration> ArrivalProcess::next_before(Duration end) {
  advance();
  return now_ < seconds(end) ? std::optional(Duration(std::llround(now_ * 1e9))) : std::nullopt;
}

void ArrivalProcess::advance() {
  switch (spec_.kind) {
    case ArrivalKind::constant:
      now_ = static_cast<double>(count_++) / spec_.rate;
      break;
    case ArrivalKind::poisson:
      now_ += draw_exponential(random_, 1 / spec_.rate);
      break;
    case ArrivalKind::gamma:
      now_ += draw_gamma(random_, 1 / spec_.rate, spec_.cv);
      break;
    case ArrivalKind::on_off:
      now_ = next_on_off();
      break;
  }
}

double ArrivalProcess::next_on_off() {
  const double rate_on = spec_.rate * (seconds(spec_.on) + seconds(spec_.off)) / seconds(spec_.on);
  double at = now_ + draw_exponential(random_, 1 / rate_on);
  while (at > phase_end_) {  // what is left of the gap, which has no memory, is spent in the next phase
    const double left = at - phase_end_;
    const double begin = phase_end_ + draw_exponential(random_, seconds(spec_.off));
    phase_end_ = begin + draw_exponential(random_, seconds(spec_.on));
    at = begin + left;
  }
  return at;
}

}  // namespace baton::sim
