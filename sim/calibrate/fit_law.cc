#include "sim/calibrate/fit_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

constexpr std::size_t kTerms = 9;  // three of prefill, three of decode below the split, three from it on
constexpr std::size_t kStepsMin = 50;
constexpr double kBusyGapMax = 0.003;  // s: a rank that waits longer between steps had nothing to do
constexpr std::size_t kHeldOutEvery = 5;
constexpr int kSweeps = 3000;
constexpr int kRefits = 3;
constexpr std::uint32_t kNoSplit = 1U << 20;

using Terms = std::array<double, kTerms>;

struct Sample {
  Terms terms{};
  double ms = 0;
};

Sample sample_of(const LoggedStep& step, std::uint32_t split) {
  Sample sample;
  const StepLoad& load = step.load;
  sample.ms = step.seconds * 1e3;
  if (load.prefill_tokens > 0) {
    const auto tokens = static_cast<double>(load.prefill_tokens);
    sample.terms[0] = 1;
    sample.terms[1] = tokens;
    sample.terms[2] = 2 * load.prefill_pairs - tokens;
  }
  if (load.decode_sequences > 0) {
    const std::size_t first = load.decode_sequences < split ? 3 : 6;
    sample.terms[first] = 1;
    sample.terms[first + 1] = static_cast<double>(load.decode_context);
    sample.terms[first + 2] = load.decode_sequences;
  }
  return sample;
}

double predict(const Terms& law, const Terms& terms) {
  double ms = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    ms += law[i] * terms[i];
  }
  return ms;
}

// min over x >= 0 of the sum of (terms . x - ms)^2 / expected. Weights between those of relative and of absolute
// errors: short steps count, and the sum of all steps comes out right.
Terms solve(const std::vector<Sample>& samples, const std::vector<double>& expected) {
  std::array<Terms, kTerms> square{};
  Terms side{};
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = samples[s];
    for (std::size_t i = 0; i < kTerms; ++i) {
      side[i] += sample.terms[i] * sample.ms / expected[s];
      for (std::size_t j = 0; j < kTerms; ++j) {
        square[i][j] += sample.terms[i] * sample.terms[j] / expected[s];
      }
    }
  }
  Terms law{};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < kTerms; ++i) {
      if (square[i][i] <= 0) {
        continue;
      }
      double rest = side[i];
      for (std::size_t j = 0; j < kTerms; ++j) {
        rest -= j == i ? 0 : square[i][j] * law[j];
      }
      law[i] = std::max(0.0, rest / square[i][i]);
    }
  }
  return law;
}

// What a step is expected to take is what the law says: by its measured time a step that was held up would count for
// less than one that was not, and the law would be too fast. The first law can but go by measured times.
Terms solve(const std::vector<Sample>& samples) {
  std::vector<double> expected;
  for (const Sample& sample : samples) {
    expected.push_back(sample.ms);
  }
  Terms law = solve(samples, expected);
  for (int i = 0; i < kRefits; ++i) {
    for (std::size_t s = 0; s < samples.size(); ++s) {
      expected[s] = std::max(predict(law, samples[s].terms), 1e-3 * samples[s].ms);
    }
    law = solve(samples, expected);
  }
  return law;
}

double mean_error(const Terms& law, const std::vector<Sample>& samples) {
  double sum = 0;
  for (const Sample& sample : samples) {
    sum += std::abs(predict(law, sample.terms) - sample.ms) / sample.ms;
  }
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

struct Split {
  std::vector<Sample> fitted;
  std::vector<Sample> held_out;
};

Split samples_of(const std::vector<LoggedStep>& steps, std::uint32_t split) {
  Split samples;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    (i % kHeldOutEvery == kHeldOutEvery - 1 ? samples.held_out : samples.fitted).push_back(sample_of(steps[i], split));
  }
  return samples;
}

LawFit fit(const std::vector<LoggedStep>& steps) {
  LawFit best;
  double least = std::numeric_limits<double>::max();
  for (const std::uint32_t split : {kNoSplit, 2U, 3U, 5U, 9U, 17U, 33U}) {
    const Split samples = samples_of(steps, split);
    const Terms law = solve(samples.fitted);
    const double error = mean_error(law, samples.fitted);
    if (error >= 0.98 * least) {
      continue;  // a second set of coefficients must pay
    }
    least = error;
    best.law.prefill = {law[0], law[1], law[2]};
    best.law.decode_small = {law[3], law[4], law[5]};
    best.law.decode_large = split == kNoSplit ? best.law.decode_small : StepLaw::Coefficients{law[6], law[7], law[8]};
    best.law.decode_split = split;
    best.steps = samples.fitted.size();
    best.held_out = samples.held_out.size();
    best.error = error;
    best.held_out_error = mean_error(law, samples.held_out);
    double predicted = 0;
    double measured = 0;
    for (const Sample& sample : samples.held_out) {
      predicted += predict(law, sample.terms);
      measured += sample.ms;
    }
    best.total_ratio = measured > 0 ? predicted / measured : 0;
  }
  return best;
}

// What a busy rank does between two steps belongs to the first of them.
std::vector<LoggedStep> with_gaps(std::vector<LoggedStep> steps) {
  std::map<RankId, LoggedStep*> last;
  for (LoggedStep& step : steps) {
    LoggedStep*& before = last[step.rank];
    if (before != nullptr) {
      const double gap = step.begin_s - before->begin_s - before->seconds;
      before->seconds += gap > 0 && gap < kBusyGapMax ? gap : 0;
    }
    before = &step;
  }
  return steps;
}

std::string list(const StepLaw::Coefficients& c) {
  return fmt::format("[{:.9g}, {:.9g}, {:.9g}]", c[0], c[1], c[2]);
}

}  // namespace

std::map<Role, LawFit> fit_laws(const StepLog& log) {
  std::map<Role, std::vector<LoggedStep>> by_role;
  for (const LoggedStep& step : with_gaps(log.steps)) {
    if (step.seconds > 0 && !step.load.empty()) {
      by_role[step.rank.role].push_back(step);
    }
  }
  if (by_role.empty()) {
    throw Error(Errc::invalid_argument, "the step log has no steps");
  }
  std::map<Role, LawFit> fits;
  for (const auto& [role, steps] : by_role) {
    if (steps.size() < kStepsMin) {
      throw Error(Errc::invalid_argument, fmt::format("the step log has {} steps of {} ranks, {} are needed",
                                                      steps.size(), to_string(role), kStepsMin));
    }
    fits[role] = fit(steps);
  }
  return fits;
}

std::string law_toml(const StepLaw& law) {
  return fmt::format("prefill = {}\ndecode_small = {}\ndecode_large = {}\ndecode_split = {}\n", list(law.prefill),
                     list(law.decode_small), list(law.decode_large), law.decode_split);
}

}  // namespace baton::sim
