#include "sim/cost/step_setup.h"

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Errc::invalid_argument, why);
}

void check_experts(const ModelSpec& model, const Parallel& parallel, std::uint32_t redundant) {
  if (!model.is_mixture()) {
    if (parallel.ep > 1 || parallel.dp > 1) {
      refuse(fmt::format("{} has no experts: ep = {} and dp = {} mean nothing; use more ranks", model.name, parallel.ep,
                         parallel.dp));
    }
    return;
  }
  const std::uint32_t gpus = parallel.stage_gpus();
  if (gpus % parallel.ep != 0) {
    refuse(fmt::format("ep = {} does not divide the {} GPUs of a group (tp {} x dp {})", parallel.ep, gpus, parallel.tp,
                       parallel.dp));
  }
  if (parallel.dp > 1 && parallel.ep == 1) {
    refuse(fmt::format("dp = {} with ep = 1: ranks that do not share experts need no group", parallel.dp));
  }
  if ((model.experts + redundant) % parallel.ep != 0) {
    refuse(fmt::format("{} experts and {} redundant ones do not spread evenly over ep = {}", model.experts, redundant,
                       parallel.ep));
  }
  if (model.expert_width % (gpus / parallel.ep) != 0) {
    refuse(fmt::format("experts of width {} do not split over {} GPUs", model.expert_width, gpus / parallel.ep));
  }
}

}  // namespace

void check_setup(const StepSetup& setup) {
  const ModelSpec& model = setup.model;
  const Parallel& parallel = setup.parallel;
  if (model.heads % parallel.tp != 0) {
    refuse(fmt::format("the {} heads of {} do not divide by tp = {}", model.heads, model.name, parallel.tp));
  }
  if (parallel.pp > model.layers) {
    refuse(fmt::format("{} has {} layers: too few for pp = {}", model.name, model.layers, parallel.pp));
  }
  check_experts(model, parallel, setup.redundant_experts);
  if (setup.two_batch_overlap && parallel.dp == 1) {
    refuse("two-batch overlap hides the all-to-all between the ranks of a group; with dp = 1 there is none");
  }
  if (setup.speculation.drafts != setup.speculation.acceptance.size()) {
    refuse(fmt::format("{} drafts need as many chances of acceptance, not {}", setup.speculation.drafts,
                       setup.speculation.acceptance.size()));
  }
}

}  // namespace baton::sim
