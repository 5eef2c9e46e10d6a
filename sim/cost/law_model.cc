#include <algorithm>

#include <fmt/format.h>

#include "runtime/check.h"
#include "sim/cost/step_law.h"

namespace baton::sim {
namespace {

Duration from_ms(double ms) noexcept {
  return Duration(static_cast<std::int64_t>(ms * 1e6 + 0.5));
}

class LawModel final : public CostModel {
 public:
  LawModel(const StepLaw& law, std::uint32_t pp) : law_(law), pp_(pp) {}

  StepCost cost(const StepLoad& load) const override {
    double stage = 0;
    double entry = load.empty() ? 0 : law_.entry_ms;
    if (load.prefill_tokens > 0) {
      const auto tokens = static_cast<double>(load.prefill_tokens);
      // Twice the causal pairs of n tokens are n^2 + n; behind a cached prefix they are those of the longer prompt.
      const double squares = 2 * load.prefill_pairs - tokens;
      stage += (law_.prefill[0] + law_.prefill[1] * tokens + law_.prefill[2] * squares) / pp_ + law_.stage_ms * pp_;
      entry += law_.entry_ms_per_token * tokens;
    }
    if (load.decode_sequences > 0) {
      const auto& c = load.decode_sequences < law_.decode_split ? law_.decode_small : law_.decode_large;
      const auto context = static_cast<double>(load.decode_context);
      stage += (c[0] + c[1] * context + c[2] * load.decode_sequences) / pp_;
      entry += law_.entry_ms_per_token * (context - load.decode_tokens);
    }
    StepCost cost;
    cost.stage = from_ms(stage + entry);
    cost.total = from_ms(stage * pp_ + entry);
    cost.by_layer[static_cast<std::size_t>(CostLayer::fitted)] = cost.total;
    return cost;
  }

  StepCost group_cost(std::span<const StepLoad> loads) const override {
    BATON_CHECK(!loads.empty());
    StepCost slowest;
    for (const StepLoad& load : loads) {
      const StepCost own = cost(load);
      slowest = own.total > slowest.total ? own : slowest;
    }
    return slowest;
  }

  std::uint32_t stages() const noexcept override { return pp_; }

  std::string describe() const override {
    const auto line = [](const StepLaw::Coefficients& c) { return fmt::format("{} ms, {}, {}", c[0], c[1], c[2]); };
    return fmt::format(
        "cost = law\nprefill = {}\ndecode below {} sequences = {}\ndecode from there = {}\nstages = {}\n",
        line(law_.prefill), law_.decode_split, line(law_.decode_small), line(law_.decode_large), pp_);
  }

 private:
  const StepLaw law_;
  const std::uint32_t pp_;
};

}  // namespace

std::unique_ptr<CostModel> make_law_model(const StepLaw& law, std::uint32_t pp) {
  BATON_CHECK(pp > 0, pp);
  return std::make_unique<LawModel>(law, pp);
}

}  // namespace baton::sim
