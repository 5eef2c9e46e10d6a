// Measured times of the operators of one model under wide expert parallelism, interpolated linearly.
//
// The folder holds CSV files with the columns of AIConfigurator's collection (github.com/ai-dynamo/aiconfigurator,
// Apache-2.0): mla_context.csv and mla_generation.csv (the attention module of one layer by batch and length),
// moe_context.csv and moe_generation.csv (grouped expert products by tokens of the whole group), deepep_normal.csv and
// deepep_low_latency.csv (dispatch and combine by nodes and tokens). Which of the last four are read follows the
// setup's all-to-all. A group of another size than was measured is priced by the nearest one, and counts as
// extrapolated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/grid.h"
#include "sim/cost/step_load.h"
#include "sim/cost/step_setup.h"

namespace baton::sim {

// Seconds, and whether they lie outside the grid that was measured.
struct TableTime {
  double seconds = 0;
  bool extrapolated = false;
};

class OperatorTables final {
 public:
  // Reads the files of `folder` that concern `setup`; throws Error for malformed ones (file, line, column), and if
  // nothing in them fits.
  static OperatorTables read(const std::string& folder, const StepSetup& setup);

  // One layer on one rank: projections and attention of prompts and of decode.
  TableTime attention(const StepLoad& load, double share) const;
  TableTime experts(double group_tokens) const;
  TableTime dispatch(double rank_tokens) const;
  TableTime combine(double rank_tokens) const;

 private:
  OperatorTables() = default;

  void read_attention(const std::string& folder, const StepSetup& setup);
  void read_experts(const std::string& path, const StepSetup& setup);
  void read_normal(const std::string& path, const StepSetup& setup);
  void read_low_latency(const std::string& path, const StepSetup& setup);

  Grid prefill_attention_;  // seconds by (sequences, length)
  Grid decode_attention_;   // seconds by (sequences, mean context)
  Grid experts_;            // seconds by (tokens of the group that was measured)
  Grid dispatch_;           // seconds by (tokens of one GPU)
  Grid combine_;
  double expert_tokens_ = 1;    // tokens of the measured group that load a GPU as one of ours does the most loaded one
  double own_ = 1;              // of a rank's tokens, those one GPU sends
  bool other_experts_ = false;  // the measured group had another number of experts per GPU
  bool other_nodes_ = false;    // the all-to-all was measured over another number of nodes
};

}  // namespace baton::sim
