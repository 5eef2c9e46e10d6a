#include <doctest/doctest.h>

#include "sim/cost/step_law.h"

namespace baton::sim {
namespace {

// OPT-66B on A100, as DistServe's simulator has it: prefill tp 4, decode tp 2.
StepLaw opt66b() {
  StepLaw law;
  law.prefill = {29.4416, 0.151353, 8.31745e-6};
  law.decode_small = {48.29, 9.42e-4, 0.1276};
  law.decode_large = {28.73, 4.74e-4, 0.2962};
  law.stage_ms = 1;
  law.entry_ms = 2;
  law.entry_ms_per_token = 1e-4;
  return law;
}

double ms(Duration time) {
  return 1e3 * seconds(time);
}

TEST_CASE("StepLaw: the first request of the reference run takes 90.248 ms to its first token") {
  const auto model = make_law_model(opt66b(), 1);
  StepLoad load;
  load.add_prefill(374, 0, true);
  CHECK(ms(model->cost(load).total) == doctest::Approx(90.248).epsilon(1e-5));
  CHECK(model->cost(load).stage == model->cost(load).total);
}

TEST_CASE("StepLaw: squares of lengths are recovered from query-key pairs, chunk by chunk") {
  const auto model = make_law_model(opt66b(), 1);
  StepLoad load;
  double squares = 0;
  for (const std::uint32_t tokens : {1u, 374u, 2048u, 7000u}) {
    load.add_prefill(tokens, 0, true);
    squares += static_cast<double>(tokens) * tokens;
  }
  const double sum = 1 + 374 + 2048 + 7000;
  CHECK(ms(model->cost(load).total) ==
        doctest::Approx(29.4416 + 0.151353 * sum + 8.31745e-6 * squares + 3 + 1e-4 * sum).epsilon(1e-8));
}

TEST_CASE("StepLaw: decode has two regimes, and stages divide the time of one") {
  StepLaw law = opt66b();
  law.entry_ms = law.entry_ms_per_token = 0;
  const auto at = [&](std::uint32_t sequences, std::uint32_t pp) {
    StepLoad load;
    for (std::uint32_t i = 0; i < sequences; ++i) {
      load.add_decode(500);
    }
    return make_law_model(law, pp)->cost(load);
  };
  CHECK(ms(at(94, 1).total) == doctest::Approx(48.29 + 9.42e-4 * 94 * 500 + 0.1276 * 94));
  CHECK(ms(at(95, 1).total) == doctest::Approx(28.73 + 4.74e-4 * 95 * 500 + 0.2962 * 95));
  CHECK(ms(at(94, 2).stage) == doctest::Approx((48.29 + 9.42e-4 * 94 * 500 + 0.1276 * 94) / 2));
  CHECK(at(94, 2).total == at(94, 1).total);
  CHECK(make_law_model(law, 2)->stages() == 2);
}

TEST_CASE(
    "StepLaw: the entry of a decode step goes by what is there of each sequence, and delays the first stage only") {
  StepLaw law = opt66b();
  StepLoad load;
  load.add_decode(500);
  load.add_decode(301);
  const StepCost cost = make_law_model(law, 2)->cost(load);
  const double half = (48.29 + 9.42e-4 * 801 + 0.1276 * 2) / 2;
  CHECK(ms(cost.stage) == doctest::Approx(half + 2 + 1e-4 * 799));
  CHECK(ms(cost.total) == doctest::Approx(2 * half + 2 + 1e-4 * 799));
  CHECK(make_law_model(law, 2)->cost(StepLoad()) == StepCost());
}

}  // namespace
}  // namespace baton::sim
