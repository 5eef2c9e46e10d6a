// Step times as closed polynomials, the form that DistServe's simulator uses (github.com/LLMServe/DistServe,
// simdistserve, Apache-2.0): for models whose coefficients somebody measured.
//
//   prefill  ms = (a + b * sum(L) + c * sum(L^2)) / pp + stage_ms * pp + entry_ms + entry_ms_per_token * sum(L)
//   decode   ms = (a + b * sum(contexts) + c * sequences) / pp + entry_ms + entry_ms_per_token * sum(contexts before),
//            with other coefficients from split sequences on
//
// Each is the time of one pipeline stage but for the entry, which only the first one has.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "sim/cost/cost_model.h"

namespace baton::sim {

struct StepLaw {
  using Coefficients = std::array<double, 3>;  // a in ms, b and c in ms per unit

  Coefficients prefill{};
  Coefficients decode_small{};
  Coefficients decode_large{};
  std::uint32_t decode_split = 95;  // sequences from which decode_large holds
  double stage_ms = 0;              // added to every stage of a prefill, once per stage of the pipeline
  double entry_ms = 0;              // added to the first stage of a step
  double entry_ms_per_token = 0;    // of a prompt, and of a context without its new tokens

  bool operator==(const StepLaw&) const = default;
};

// `pp`: pipeline stages. The law knows no groups: the slowest rank sets the time.
std::unique_ptr<CostModel> make_law_model(const StepLaw& law, std::uint32_t pp);

}  // namespace baton::sim
