// The cost model that puts a step together from the parts of its layers (roofline.h), for one rank or a group of them.
//
//   step = host + sum over layers of (attention + FFN or experts + collectives + gap) + head
//
// In a group (attention data parallelism) the collectives make every layer wait for the slowest rank: attention counts
// at its maximum, the experts at the sum of all tokens times the skew. With two-batch overlap a layer runs as two
// halves, of which one computes while the other's tokens travel; halves read the weights twice, so that small batches
// lose by it. A bulk all-to-all keeps a share of the multiprocessors for itself meanwhile, a low-latency one all or
// none (LMSYS blog, 5 May 2025): what computes beside a bulk one is slower by that share.
#pragma once

#include <memory>

#include "sim/cost/cost_model.h"
#include "sim/cost/operator_tables.h"
#include "sim/cost/roofline.h"
#include "sim/cost/step_setup.h"

namespace baton::sim {

// Data sheet figures alone.
std::unique_ptr<CostModel> make_roofline_model(const StepSetup& setup);

// With the constants fitted for the hardware. Throws Error(invalid_argument) if it has none.
std::unique_ptr<CostModel> make_fitted_model(const StepSetup& setup);

// Parts that `tables` holds come from there, the others from the fitted constants.
std::unique_ptr<CostModel> make_operator_model(const StepSetup& setup, OperatorTables tables);

}  // namespace baton::sim
