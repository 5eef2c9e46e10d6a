// Prices of several rounds at once, against those of each round by itself.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "sim/cost/kernel_model.h"
#include "sim/cost/step_law.h"
#include "sim/cost/step_model.h"
#include "tests/sim/cost/named_setup.h"

namespace baton::sim {
namespace {

std::vector<std::unique_ptr<CostModel>> all_kinds() {
  std::vector<std::unique_ptr<CostModel>> models;
  StepSetup dense = setup_of("llama-3.1-70b", "h100", {.tp = 8});
  models.push_back(make_roofline_model(dense));
  models.push_back(make_fitted_model(dense));
  dense.graph_batches = {1, 2, 4, 8, 16, 32};
  dense.layer_gap = std::chrono::microseconds(3);
  dense.host_overhead = std::chrono::microseconds(200);
  models.push_back(make_fitted_model(dense));
  dense.speculation.drafts = 2;
  dense.speculation.acceptance = {0.8, 0.6};
  models.push_back(make_roofline_model(dense));
  models.push_back(make_roofline_model(setup_of("llama-3.1-70b", "h100", {.tp = 2, .pp = 4})));
  models.push_back(make_roofline_model(setup_of("deepseek-v3", "h100", {.tp = 8})));
  models.push_back(make_law_model(StepLaw{.prefill = {29, 0.15, 8e-6}, .decode_small = {48, 9e-4, 0.1}}, 2));
  const std::string folder = "data/kernels/llama31_8b_rtx4090/";
  models.push_back(make_kernel_model(
      setup_of("llama-3.1-8b", "rtx4090"),
      {folder + "attention.csv", folder + "dense.csv", folder + "per_sequence.csv", folder + "skew_fit.csv"}));
  return models;
}

TEST_CASE("CostModel: rounds priced together cost what each costs by itself, whatever the model and the batch") {
  const std::vector<std::unique_ptr<CostModel>> models = all_kinds();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    StepLoad load;
    const std::uint64_t sequences = random.uniform(40);
    for (std::uint64_t i = 0; i < sequences; ++i) {
      load.add_decode(static_cast<std::uint32_t>(1 + random.uniform(5000)));
    }
    if (random.uniform(4) == 0) {
      const auto tokens = static_cast<std::uint32_t>(1 + random.uniform(2000));
      load.add_prefill(tokens, random.uniform(3000), true);
    }
    for (std::size_t model = 0; model < models.size(); ++model) {
      CAPTURE(model);
      std::vector<StepCost> together(1 + random.uniform(20));
      models[model]->round_costs(load, together);
      StepLoad single = load;
      for (const StepCost& cost : together) {
        REQUIRE(cost == models[model]->cost(single));
        single.grow_decode();
      }
    }
  }
}

}  // namespace
}  // namespace baton::sim
