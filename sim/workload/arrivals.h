// When requests come: a process of arrivals in open loop. Every kind has the same mean rate for the same `rate`, so
// that kinds can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/random.h"
#include "runtime/time.h"

namespace baton::sim {

enum class ArrivalKind : std::uint8_t { constant, poisson, gamma, on_off };

struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::poisson;
  double rate = 1;                 // a second, in the long run
  double cv = 1;                   // of the gaps; gamma alone
  Duration on{};                   // on_off: mean length of a phase with arrivals (Poisson), exponentially distributed
  Duration off{};                  // and of one without
  std::string text = "poisson:1";  // as it was given
};

// "constant:RATE", "poisson:RATE", "gamma:RATE,CV", "onoff:RATE,ON,OFF" with times such as 10s. Throws
// Error(invalid_argument).
ArrivalSpec parse_arrivals(const std::string& text);

class ArrivalProcess final {
 public:
  ArrivalProcess(const ArrivalSpec& spec, Random random);

  // The next arrival since the start, never before the one given last. constant begins at 0, the others with a gap.
  // Throws Error(invalid_argument) when it would be more than a year after the start.
  Duration next();

  // The same, but nothing when it would not be before `end`.
  std::optional<Duration> next_before(Duration end);

 private:
  void advance();
  double next_on_off();

  ArrivalSpec spec_;
  Random random_;
  std::uint64_t count_ = 0;
  double now_ = 0;        // seconds
  double phase_end_ = 0;  // of the phase with arrivals that is under way
};

}  // namespace baton::sim
