// shrink(): makes a failing scenario as small as it gets while the same bug stays: fewer clients, no faults but those
// that matter, one rank of a kind, plain settings, short requests.
#pragma once

#include <functional>
#include <string>

#include "sim/explorer/finding.h"
#include "sim/explorer/trial.h"

namespace baton::chaos {

struct Shrunk {
  Scenario scenario;
  Finding finding;  // of that scenario
  unsigned runs = 0;
  bool complete = true;  // no single step makes it smaller; false: it was stopped before
};

struct ShrinkOptions {
  std::function<bool()> stop;                   // asked before each run; true: enough
  std::function<void(const Shrunk&)> progress;  // after each run; may be empty
};

using TryFunction = std::function<Trial(const Scenario&)>;

// `finding` is what `scenario` shows. Deterministic as long as `attempt` and `stop` are.
Shrunk shrink(const Scenario& scenario, const Finding& finding, const TryFunction& attempt,
              const ShrinkOptions& options);

// "3 clients, 1 timed fault, 2 message faults, 1+1 ranks".
std::string size_text(const Scenario& scenario);

}  // namespace baton::chaos
