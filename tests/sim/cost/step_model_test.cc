#include "sim/cost/step_model.h"

#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "tests/sim/cost/error_text.h"
#include "tests/sim/cost/named_setup.h"

namespace baton::sim {
namespace {

// DeepSeek-V3 over 72 H100, decode.
StepSetup wide_setup() {
  StepSetup setup = setup_of("deepseek-v3", "h100", {.tp = 1, .pp = 1, .ep = 72, .dp = 72});
  setup.precision = {Dtype::fp8_block, Dtype::fp8_block, Dtype::bf16};
  setup.all_to_all = AllToAll::low_latency;
  setup.redundant_experts = 32;
  return setup;
}

StepLoad decode_load(std::uint32_t sequences, std::uint32_t context) {
  StepLoad load;
  for (std::uint32_t i = 0; i < sequences; ++i) {
    load.add_decode(context);
  }
  return load;
}

StepLoad prefill_load(std::uint32_t sequences, std::uint32_t tokens) {
  StepLoad load;
  for (std::uint32_t i = 0; i < sequences; ++i) {
    load.add_prefill(tokens, 0, true);
  }
  return load;
}

double ms(Duration time) {
  return 1e3 * seconds(time);
}

TEST_CASE("StepModel: the roofline of a decode step is its bytes over the bandwidth") {
  const auto model = make_roofline_model(setup_of("llama-3.1-8b", "h100"));
  // Weights 15.01 GB and cache 17.18 GB at 3.35 TB/s; activations add a little.
  CHECK(ms(model->cost(decode_load(64, 2048)).total) == doctest::Approx(9.61).epsilon(0.01));
}

TEST_CASE("StepModel: the roofline of a prompt is its FLOPs over the peak") {
  const auto model = make_roofline_model(setup_of("llama-3.1-70b", "h100"));
  // 280.38 + 5.50 TFLOP at 989 TFLOP/s, and the head's weights once.
  CHECK(ms(model->cost(prefill_load(1, 2048)).total) == doctest::Approx(289.1 + 0.63).epsilon(0.003));
}

TEST_CASE("StepModel: eight GPUs take an eighth and what their all-reduces need") {
  const auto one = make_roofline_model(setup_of("llama-3.1-70b", "h100"));
  const auto eight = make_roofline_model(setup_of("llama-3.1-70b", "h100", {.tp = 8}));
  const StepLoad load = prefill_load(4, 2048);
  const StepCost cost = eight->cost(load);
  // Two rings a layer: 2 * 8192 tokens * 8192 * 2 bytes * 7/8 at 450 GB/s.
  const double wire = 80 * 2 * 2.0 * 8192 * 8192 * 2 * 7 / 8 / 450e9;
  CHECK(seconds(cost.communication) == doctest::Approx(wire).epsilon(1e-6));
  CHECK(seconds(cost.total) == doctest::Approx(seconds(one->cost(load).total) / 8 + wire).epsilon(0.01));
}

TEST_CASE("StepModel: fitted constants are slower than the data sheet, and bear their name") {
  const StepSetup setup = setup_of("llama-3.1-70b", "h100", {.tp = 8});
  const auto roofline = make_roofline_model(setup);
  const auto fitted = make_fitted_model(setup);
  for (const StepLoad& load :
       {prefill_load(1, 512), prefill_load(2, 4096), decode_load(1, 100), decode_load(200, 3000)}) {
    const StepCost pure = roofline->cost(load);
    const StepCost real = fitted->cost(load);
    CHECK(real.total > pure.total);
    CHECK(real.by_layer == std::array{Duration{}, real.total, Duration{}});
    CHECK(pure.by_layer == std::array{Duration{}, Duration{}, pure.total});
  }
  CHECK(contains(error_text([] { make_fitted_model(setup_of("opt-13b", "l40s")); }), "no fitted constants"));
}

TEST_CASE("StepModel: the same load has the same cost however often and in whatever order it is asked") {
  const auto model = make_fitted_model(setup_of("llama-3.1-70b", "h100", {.tp = 8}));
  std::vector<StepLoad> loads;
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    StepLoad load = decode_load(static_cast<std::uint32_t>(random.uniform(300)), 1000);
    load.add_prefill(static_cast<std::uint32_t>(1 + random.uniform(8000)), random.uniform(30'000), i % 2 == 0);
    loads.push_back(load);
  }
  std::vector<StepCost> first;
  for (const StepLoad& load : loads) {
    first.push_back(model->cost(load));
  }
  for (std::size_t i = loads.size(); i-- > 0;) {
    CHECK(model->cost(loads[i]) == first[i]);
  }
}

TEST_CASE("StepModel: more work never costs less, and origins add up to the total") {
  for (const char* name : {"llama-3.1-8b", "gpt-oss-120b", "mixtral-8x7b", "qwen3-235b-a22b"}) {
    CAPTURE(name);
    const auto model =
        make_fitted_model(setup_of(name, "h200", {.tp = 4, .ep = load_model(name).is_mixture() ? 4u : 1u}));
    Random random(3);
    for (int i = 0; i < 300; ++i) {
      StepLoad load = decode_load(static_cast<std::uint32_t>(random.uniform(64)), 500);
      load.add_decode(static_cast<std::uint32_t>(1 + random.uniform(10'000)));
      const StepCost cost = model->cost(load);
      CHECK(std::accumulate(cost.by_layer.begin(), cost.by_layer.end(), Duration{}) == cost.total);
      CHECK(cost.communication < cost.total);
      StepLoad longer = load;
      longer.grow_decode();
      CHECK(model->cost(longer).total >= cost.total);
      StepLoad wider = load;
      wider.add_decode(300);
      CHECK(model->cost(wider).total >= cost.total);
      wider.add_prefill(static_cast<std::uint32_t>(1 + random.uniform(4000)), 100, true);
      CHECK(model->cost(wider).total >= cost.total);
    }
  }
}

TEST_CASE("StepModel: a windowed layer stops growing with the context") {
  const auto windowed = make_roofline_model(setup_of("gpt-oss-120b", "h100"));
  ModelSpec full = load_model("gpt-oss-120b");
  full.window = full.window_every = 0;
  StepSetup setup = setup_of("gpt-oss-120b", "h100");
  setup.model = full;
  const auto plain = make_roofline_model(setup);
  const auto growth = [](const CostModel& model) {
    return seconds(model.cost(decode_load(64, 8192)).total) - seconds(model.cost(decode_load(64, 4096)).total);
  };
  CHECK(growth(*windowed) == doctest::Approx(growth(*plain) / 2).epsilon(0.001));
}

// A load has sums over its sequences, and a window takes the least of two sums where it should sum what is least for
// each.
TEST_CASE("StepModel: contexts on both sides of a window are priced within 0.3 % of each by itself") {
  const StepSetup setup = setup_of("gpt-oss-120b", "h100");
  const auto model = make_roofline_model(setup);
  const double window = setup.model.window;
  const double windowed = static_cast<double>(setup.model.windowed_layers()) / setup.model.layers;
  for (const std::uint32_t batch : {2U, 16U, 64U, 256U}) {
    const auto time = [&](std::uint32_t context) { return seconds(model->cost(decode_load(batch, context)).total); };
    const double per_token = (time(16'384) - time(8192)) / ((1 - windowed) * batch * 8192);
    const double rest = time(8192) - per_token * batch * ((1 - windowed) * 8192 + windowed * window);
    for (const std::uint32_t shorter : {1U, 32U, 127U}) {
      StepLoad mixed = decode_load(batch / 2, shorter);
      for (std::uint32_t i = 0; i < batch / 2; ++i) {
        mixed.add_decode(8192);
      }
      const double near = batch / 2 * (shorter + window);
      const double one_by_one =
          rest + per_token * ((1 - windowed) * static_cast<double>(mixed.decode_context) + windowed * near);
      CAPTURE(batch);
      CAPTURE(shorter);
      const double priced = seconds(model->cost(mixed).total);
      CHECK(priced / one_by_one == doctest::Approx(1).epsilon(0.003));
      CHECK(priced > one_by_one);
    }
  }
}

TEST_CASE("StepModel: pipeline stages overlap batches, not the one batch") {
  const StepLoad load = prefill_load(1, 4096);
  const StepCost one = make_roofline_model(setup_of("llama-3.1-70b", "h100"))->cost(load);
  const auto model = make_roofline_model(setup_of("llama-3.1-70b", "h100", {.pp = 4}));
  const StepCost four = model->cost(load);
  CHECK(model->stages() == 4);
  CHECK(one.stage == one.total);
  CHECK(four.total > one.total);
  CHECK(seconds(four.stage) == doctest::Approx(seconds(one.total) / 4).epsilon(0.01));
}

TEST_CASE("StepModel: a group waits for its slowest rank, and idle ranks step along") {
  const auto model = make_fitted_model(wide_setup());
  const StepLoad busy = decode_load(128, 3000);
  const StepLoad lazy = decode_load(16, 500);
  std::vector<StepLoad> loads(72, lazy);
  const Duration calm = model->group_cost(loads).total;
  loads[40] = busy;
  const Duration mixed = model->group_cost(loads).total;
  CHECK(mixed > calm);
  std::vector<StepLoad> all_busy(72, busy);
  CHECK(model->group_cost(all_busy).total > mixed);
  std::vector<StepLoad> alone(72);
  alone[40] = busy;
  // Idle ranks add no tokens to the experts, and take nothing off the rest.
  CHECK(model->group_cost(alone).total < mixed);
  CHECK(model->group_cost(alone) == model->cost(busy));
  CHECK(model->group_cost(std::vector<StepLoad>(72)) == StepCost{});
}

TEST_CASE("StepModel: the slowest rank of a group counts wherever it stands") {
  const auto model = make_fitted_model(wide_setup());
  Random random(11);
  std::vector<StepLoad> loads;
  for (int i = 0; i < 72; ++i) {
    loads.push_back(decode_load(static_cast<std::uint32_t>(random.uniform(256)), 2000));
  }
  const StepCost cost = model->group_cost(loads);
  std::ranges::reverse(loads);
  CHECK(model->group_cost(loads) == cost);
}

TEST_CASE("StepModel: skewed experts cost, redundant copies alone do not") {
  StepSetup setup = wide_setup();
  const std::vector<StepLoad> loads(72, decode_load(256, 2000));
  const Duration even = make_fitted_model(setup)->group_cost(loads).total;
  setup.expert_skew = 3;
  CHECK(make_fitted_model(setup)->group_cost(loads).total > even);
}

TEST_CASE("StepModel: two-batch overlap pays for large batches and not for small ones") {
  StepSetup setup = wide_setup();
  const auto gain = [&](std::uint32_t batch) {
    const std::vector<StepLoad> loads(72, decode_load(batch, 2000));
    setup.two_batch_overlap = false;
    const double serial = seconds(make_fitted_model(setup)->group_cost(loads).total);
    setup.two_batch_overlap = true;
    return serial / seconds(make_fitted_model(setup)->group_cost(loads).total) - 1;
  };
  CHECK(gain(256) > 0);
  CHECK(gain(8) < 0);
}

TEST_CASE("StepModel: a bulk all-to-all takes multiprocessors and slows down only where something computes beside it") {
  StepSetup setup = wide_setup();
  setup.parallel = {.tp = 1, .pp = 1, .ep = 32, .dp = 32};
  setup.all_to_all = AllToAll::normal;
  const std::vector<StepLoad> loads(32, prefill_load(8, 2048));
  const auto time = [&] { return make_fitted_model(setup)->group_cost(loads).total; };
  const auto change = [&](bool overlap, double slowdown, double share) {
    setup.two_batch_overlap = overlap;
    setup.wire_slowdown = 1;
    setup.hardware.fitted->bulk_share = 0;
    const Duration before = time();
    setup.wire_slowdown = slowdown;
    setup.hardware.fitted->bulk_share = share;
    return time() - before;
  };
  CHECK(change(false, 2, 0.2) == Duration::zero());
  setup.overlap_efficiency = 0.5;
  CHECK(change(true, 2, 0) > Duration::zero());
  CHECK(change(true, 1, 0.2) > Duration::zero());
  setup.all_to_all = AllToAll::low_latency;
  CHECK(change(false, 2, 0) > Duration::zero());
  CHECK(change(true, 1, 0.2) == Duration::zero());
}

TEST_CASE("StepModel: low-latency dispatch is quicker for few tokens, bulk for many") {
  StepSetup low = wide_setup();
  StepSetup bulk = wide_setup();
  bulk.all_to_all = AllToAll::normal;
  const std::vector<StepLoad> few(72, decode_load(16, 100));
  CHECK(make_fitted_model(low)->group_cost(few).total < make_fitted_model(bulk)->group_cost(few).total);
  low.parallel = bulk.parallel = {.tp = 1, .pp = 1, .ep = 32, .dp = 32};
  const std::vector<StepLoad> many(32, prefill_load(8, 2048));
  CHECK(make_fitted_model(low)->group_cost(many).total > make_fitted_model(bulk)->group_cost(many).total);
}

TEST_CASE("StepModel: narrower weights and caches are read faster") {
  StepSetup setup = setup_of("llama-3.1-70b", "h100", {.tp = 8});
  const StepLoad load = decode_load(64, 4000);
  const Duration wide = make_roofline_model(setup)->cost(load).total;
  setup.precision.kv = Dtype::fp8;
  const Duration narrow_cache = make_roofline_model(setup)->cost(load).total;
  CHECK(narrow_cache < wide);
  setup.precision.weights = setup.precision.activations = Dtype::fp8;
  CHECK(make_roofline_model(setup)->cost(load).total < narrow_cache);
}

TEST_CASE("StepModel: a captured graph computes its whole batch") {
  StepSetup setup = setup_of("llama-3.1-8b", "h100");
  const auto plain = make_fitted_model(setup);
  setup.graph_batches = {1, 8, 64};
  const auto padded = make_fitted_model(setup);
  CHECK(padded->cost(decode_load(8, 100)) == plain->cost(decode_load(8, 100)));
  CHECK(padded->cost(decode_load(9, 100)).total > plain->cost(decode_load(9, 100)).total);
  CHECK(padded->cost(decode_load(100, 100)) == plain->cost(decode_load(100, 100)));
  CHECK(padded->cost(prefill_load(1, 9)) == plain->cost(prefill_load(1, 9)));
}

TEST_CASE("StepModel: verifying drafts costs rows and passes, not another read of the cache") {
  StepSetup setup = setup_of("llama-3.1-70b", "h100", {.tp = 8});
  const StepLoad plain = decode_load(8, 20'000);
  const Duration without = make_fitted_model(setup)->cost(plain).total;
  setup.speculation = {2, {0.8, 0.6}, 1};
  StepLoad verify;
  for (int i = 0; i < 8; ++i) {
    verify.add_decode(20'000, 3);
  }
  const Duration with = make_fitted_model(setup)->cost(verify).total;
  CHECK(with > without);
  CHECK(seconds(with) < 1.5 * seconds(without));
  CHECK(setup.speculation.tokens_per_step() == doctest::Approx(1 + 0.8 + 0.48));
}

TEST_CASE("StepModel: host and gaps are added to every step") {
  StepSetup setup = setup_of("llama-3.1-8b", "h100");
  const StepLoad load = decode_load(4, 100);
  const Duration bare = make_roofline_model(setup)->cost(load).total;
  setup.host_overhead = std::chrono::milliseconds(2);
  setup.layer_gap = std::chrono::microseconds(10);
  CHECK(make_roofline_model(setup)->cost(load).total == bare + std::chrono::microseconds(2320));
}

TEST_CASE("StepModel: impossible combinations are refused with their numbers") {
  CHECK(contains(error_text([] { make_roofline_model(setup_of("llama-3.1-8b", "h100", {.tp = 5})); }),
                 "32 heads of Llama-3.1-8B do not divide by tp = 5"));
  CHECK(contains(error_text([] { make_roofline_model(setup_of("llama-3.1-8b", "h100", {.pp = 33})); }), "too few"));
  CHECK(contains(error_text([] { make_roofline_model(setup_of("deepseek-v3", "h100", {.ep = 48, .dp = 48})); }),
                 "256 experts and 0 redundant ones do not spread evenly over ep = 48"));
  CHECK(contains(error_text([] { make_roofline_model(setup_of("deepseek-v3", "h100", {.dp = 8})); }), "need no group"));
}

}  // namespace
}  // namespace baton::sim
