#include "sim/cost/expert_skew.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/check.h"
#include "runtime/random.h"

namespace baton::sim {
namespace {

constexpr int kDraws = 200;
constexpr std::uint64_t kSeed = 0x5eed;

double draw_load(const PowerLaw& law, double uniform) {
  const double most = std::max(2.0, 0.8 * static_cast<double>(law.group_tokens));
  const double power = 1 - law.alpha;
  if (std::abs(power) < 1e-9) {
    return std::pow(most, uniform);
  }
  return std::pow((std::pow(most, power) - 1) * uniform + 1, 1 / power);
}

}  // namespace

double power_law_skew(const PowerLaw& law) {
  BATON_CHECK(law.experts > 0 && law.gpus > 0 && law.experts % law.gpus == 0, law.experts, law.gpus);
  Random random(kSeed);
  const std::uint32_t share = law.experts / law.gpus;
  double sum_of_skews = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double total = 0;
    double most = 0;
    for (std::uint32_t gpu = 0; gpu < law.gpus; ++gpu) {
      double load = 0;
      for (std::uint32_t i = 0; i < share; ++i) {
        load += draw_load(law, random.unit());
      }
      total += load;
      most = std::max(most, load);
    }
    sum_of_skews += most * law.gpus / total;
  }
  return sum_of_skews / kDraws;
}

double expected_experts(std::uint32_t experts, std::uint32_t active, double tokens) {
  if (experts == 0) {
    return 0;
  }
  const double miss = 1 - static_cast<double>(active) / experts;
  return experts * (1 - std::pow(miss, tokens));
}

}  // namespace baton::sim
