#include "sim/cost/kernel_model.h"

#include <doctest/doctest.h>

#include "sim/cost/skew_table.h"
#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

const std::string kFolder = "data/kernels/llama31_8b_rtx4090/";

StepSetup setup_of() {
  StepSetup setup;
  setup.model = load_model("llama-3.1-8b");
  setup.hardware = load_hardware("rtx4090");
  return setup;
}

std::unique_ptr<CostModel> model_of(bool skew) {
  return make_kernel_model(setup_of(), {kFolder + "attention.csv", kFolder + "dense.csv", kFolder + "per_sequence.csv",
                                        skew ? kFolder + "skew_fit.csv" : ""});
}

TEST_CASE("KernelModel: a decode step at measured points is the sum of its kernels") {
  StepLoad load;
  for (int i = 0; i < 64; ++i) {
    load.add_decode(1024);
  }
  // One layer: two norms, qkv, rotary, attention, o, gate-up, activation, down; then embedding, last norm, head,
  // sampler.
  const double layer = 2 * 2.35717 + 60.1343 + 2.43167 + 333.295 + 48.8287 + 279.041 + 3.18867 + 144.363;
  const StepCost cost = model_of(false)->cost(load);
  const double layers_us = 32 * layer + 2.67733 + 2.826;
  const double ends_us = 1e6 * seconds(cost.total) - layers_us;
  CHECK(ends_us > 1100);
  CHECK(ends_us < 1500);
  CHECK(cost.by_layer[0] == cost.total);
  CHECK(cost.extrapolated == Duration{});
}

TEST_CASE("KernelModel: contexts that differ cost more than their mean, less than the longest") {
  StepLoad uneven;
  for (int i = 0; i < 32; ++i) {
    uneven.add_decode(i < 28 ? 256 : 4096);
  }
  const Duration mean = model_of(false)->cost(uneven).total;
  const Duration skewed = model_of(true)->cost(uneven).total;
  StepLoad longest;
  for (int i = 0; i < 32; ++i) {
    longest.add_decode(4096);
  }
  CHECK(skewed > mean);
  CHECK(skewed < model_of(true)->cost(longest).total);
  CHECK(model_of(true)->cost(longest) == model_of(false)->cost(longest));
}

TEST_CASE("KernelModel: steps beyond the measured sizes say so") {
  const auto model = model_of(true);
  StepLoad load;
  load.add_prefill(2048, 0, true);
  CHECK(model->cost(load).extrapolated == Duration{});
  load.add_prefill(2048, 0, true);
  const StepCost cost = model->cost(load);
  CHECK(cost.extrapolated > cost.total / 2);
  CHECK(cost.extrapolated <= cost.total);
}

TEST_CASE("KernelModel: prompts and decode of one step are priced together") {
  const auto model = model_of(true);
  StepLoad mixed;
  mixed.add_prefill(512, 1024, false);
  for (int i = 0; i < 20; ++i) {
    mixed.add_decode(300 + 10 * static_cast<std::uint32_t>(i));
  }
  StepLoad prompts;
  prompts.add_prefill(512, 1024, false);
  const Duration both = model->cost(mixed).total;
  CHECK(both > model->cost(prompts).total);
  StepLoad decode = mixed;
  decode.prefill_sequences = 0;
  decode.prefill_tokens = decode.prefill_context = 0;
  CHECK(both < model->cost(prompts).total + model->cost(decode).total);
}

TEST_CASE("KernelModel: malformed and foreign tables are refused") {
  CHECK(contains(error_text([] { make_kernel_model(setup_of(), {kFolder + "dense.csv", "", "", ""}); }),
                 "there is no column 'prefill_chunk'"));
  StepSetup setup = setup_of();
  setup.parallel.pp = 2;
  CHECK(contains(error_text([&] { make_kernel_model(setup, {}); }), "kernel tables know no pp = 2"));
  CHECK(contains(error_text([] { SkewTable::read(kFolder + "dense.csv"); }), "there is no column 'pc'"));
}

}  // namespace
}  // namespace baton::sim
