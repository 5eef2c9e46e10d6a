// Step times from kernel tables of one model on one kind of GPU, as an engine runs them: for co-located steps of
// prompts and decode together.
//
// CSV files with the columns of LLMServingSim 2.0's profiles (github.com/casys-kaist/LLMServingSim, MIT):
//   attention     prefill_chunk, kv_prefill, n_decode, kv_decode, time_us   one layer's attention
//   dense         layer, tokens, time_us                                   everything else of a layer, and its ends
//   per_sequence  layer, sequences, time_us                                the head and the sampler
//   skew_fit      pc, n_label, skew_rate_label, kv_big_label, kp_label, alpha, n_samples
// A batch whose contexts differ costs more than one of their mean: t = t_mean + alpha * (t_max - t_mean), alpha by
// bucket of chunk, decode count, (mean - min) / (max - min), longest context and cached prefix.
#pragma once

#include <memory>
#include <string>

#include "sim/cost/cost_model.h"
#include "sim/cost/step_setup.h"

namespace baton::sim {

struct KernelPaths {
  std::string attention;
  std::string dense;
  std::string per_sequence;
  std::string skew_fit;  // empty: no correction
};

// Tables measured on a GPU of a rank of setup.parallel.tp. Throws Error for malformed tables.
std::unique_ptr<CostModel> make_kernel_model(const StepSetup& setup, const KernelPaths& paths);

}  // namespace baton::sim
