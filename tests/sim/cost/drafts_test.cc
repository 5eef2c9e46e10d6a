// What multi-token prediction gains, from constants that were fitted to other things.

#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cost/step_model.h"

namespace baton::sim {
namespace {

// DeepSeek-V3 on 16 H200, two sequences a rank after prompts of 65,536 tokens (LMSYS blog on MTP): 60.4 tokens/s and
// rank without drafts; 81.5 with two (2.18 accepted), 82.0 with three (2.44 accepted).
double step_seconds(std::uint32_t drafts) {
  StepSetup setup;
  setup.model = load_model("deepseek-v3");
  setup.hardware = load_hardware("h200");
  setup.precision = {Dtype::fp8_block, Dtype::fp8_block, Dtype::bf16};
  setup.parallel = {.tp = 1, .pp = 1, .ep = 16, .dp = 16};
  setup.all_to_all = AllToAll::low_latency;
  if (drafts > 0) {
    setup.speculation = {drafts, std::vector<double>(drafts, 0.7), 1};
  }
  StepLoad load;
  for (int i = 0; i < 2; ++i) {
    load.add_decode(65'536 + 2048, 1 + drafts);
  }
  return seconds(make_fitted_model(setup)->group_cost(std::vector<StepLoad>(16, load)).total);
}

TEST_CASE("drafts: verifying costs steps of 1.6 and 1.8 times, so that the gain is 1.35 and not 2.18") {
  const double plain = step_seconds(0);
  const double two = step_seconds(2);
  const double three = step_seconds(3);
  MESSAGE(fmt::format("steps {:.2f} and {:.2f} times the plain one (published 1.62, 1.80); gain {:.2f} (1.35), {:.2f}",
                      two / plain, three / plain, 2.18 * plain / two, 2.44 * plain / three));
  CHECK(two / plain == doctest::Approx(1.62).epsilon(0.1));
  CHECK(three / plain == doctest::Approx(1.80).epsilon(0.1));
  CHECK(std::abs(2.18 * plain / two - 1.35) < 0.15);
  CHECK((2.44 / three) / (2.18 / two) < 1.05);
}

}  // namespace
}  // namespace baton::sim
