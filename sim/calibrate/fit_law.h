// From a step log to the law (sim/cost/step_law.h) that fits it best.
//
// Least squares, weighted by 1 / expected time, with coefficients that are not negative, by coordinate descent on the
// normal equations; the decode batch size from which the second set of coefficients holds is searched. A law for each
// role, since prompts and decode differ. Every fifth step is held out: the error there is what to expect of new loads.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "runtime/ids.h"
#include "sim/calibrate/step_log.h"
#include "sim/cost/step_law.h"

namespace baton::sim {

struct LawFit {
  StepLaw law;
  std::size_t steps = 0;      // fitted to
  std::size_t held_out = 0;   // and not
  double error = 0;           // mean of |predicted - measured| / measured over those fitted to
  double held_out_error = 0;  // over the others
  double total_ratio = 0;     // all predicted time over all measured time, of those held out
};

// By role of the ranks in the log. Steps of no time are left out. Throws Error(invalid_argument) for a role with fewer
// than 50 steps.
std::map<Role, LawFit> fit_laws(const StepLog& log);

// The law's keys as TOML, without a heading.
std::string law_toml(const StepLaw& law);

}  // namespace baton::sim
