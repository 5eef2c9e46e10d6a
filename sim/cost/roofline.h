// Times of the parts of one layer on one rank, from counts of work and the rates of the hardware.
//
// With the data sheet's rates this is the pure roofline; with the shares that were fitted to measurements, plus a start
// time per kernel and laws of the collectives, it is the fitted one. All coefficients are worked out at construction,
// so that a part costs a few multiplications. Seconds throughout; `tokens` are those of one rank unless said otherwise.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/cost/layer_work.h"
#include "sim/cost/step_load.h"
#include "sim/cost/step_setup.h"

namespace baton::sim {

// start + max(T * flop, weight + T * byte)
struct ProductTime {
  double start = 0;
  double flop = 0;
  double weight = 0;
  double byte = 0;

  double of(double tokens) const noexcept {
    const double compute = tokens * flop;
    const double memory = weight + tokens * byte;
    return start + (compute > memory ? compute : memory);
  }
};

class Roofline final {
 public:
  // `efficiency`: Efficiency{} for the data sheet alone.
  Roofline(const StepSetup& setup, const Efficiency& efficiency);

  // One layer's projections and attention for `share` of the load (1, or 0.5 for half a batch). `rows`: rows of the
  // projections where more are computed than the load has (padding); else share * tokens.
  double attention(const StepLoad& load, double share, double rows) const noexcept {
    double seconds = projections_.of(rows);
    if (load.prefill_tokens > 0) {
      seconds += prefill_seconds(load, share);
    }
    if (load.decode_sequences > 0) {
      seconds += decode_seconds(load, share);
    }
    return seconds;
  }
  double dense_ffn(double tokens) const noexcept { return ffn_.of(tokens); }
  // Router and shared experts, on the rank's own tokens; routed experts on all tokens of the group.
  double shared_experts(double tokens) const noexcept;
  double experts(double group_tokens) const noexcept;
  double head(double sampled) const noexcept { return sampled > 0 ? head_.of(sampled) : 0; }

  // Among the GPUs of a stage of one rank; 0 without tensor parallelism.
  double all_reduce(double tokens) const noexcept { return reduce_latency_ + tokens * reduce_token_; }
  // Between the ranks of a group; 0 without one.
  double dispatch(double tokens) const noexcept { return dispatch_latency_ + tokens * dispatch_token_; }
  double combine(double tokens) const noexcept { return combine_latency_ + tokens * combine_token_; }
  // From one pipeline stage to the next.
  double stage_hop(double tokens) const noexcept { return hop_latency_ + tokens * hop_token_; }

 private:
  void set_products(const StepSetup& setup, const Efficiency& efficiency);
  void set_attention(const StepSetup& setup, const Efficiency& efficiency);
  void set_experts(const StepSetup& setup, const Efficiency& efficiency);
  void set_all_reduce(const StepSetup& setup, const Efficiency& efficiency);
  void set_all_to_all(const StepSetup& setup, const Efficiency& efficiency);
  void set_hop(const StepSetup& setup, bool fitted);
  double prefill_seconds(const StepLoad& load, double share) const noexcept;
  double decode_seconds(const StepLoad& load, double share) const noexcept {
    const double context = share * static_cast<double>(load.decode_context);
    const double rows = load.decode_tokens == load.decode_sequences
                            ? 1
                            : static_cast<double>(load.decode_tokens) / load.decode_sequences;
    const double full = context * std::max(rows * decode_pair_, decode_context_);
    return decode_start_ + share * load.decode_tokens * decode_row_ +
           (window_ == 0 ? full : windowed_decode(load, share, rows, full));
  }
  double windowed_decode(const StepLoad& load, double share, double rows, double full) const noexcept;

  ProductTime projections_, ffn_, shared_, router_, head_, expert_;
  double shared_tokens_ = 1;  // of the rank's tokens, those one GPU runs through the shared experts

  double prefill_pair_ = 0, prefill_context_ = 0, prefill_start_ = 0, prefill_half_ = 0;
  double decode_pair_ = 0, decode_context_ = 0, decode_row_ = 0, decode_start_ = 0;
  double full_share_ = 1;  // of the layers, those that see the whole context
  double window_ = 0;

  double expert_group_ = 0;      // seconds for each token of the group, wherever it goes
  double expert_rows_ = 0;       // rows of the most loaded GPU per token of the group
  double experts_held_ = 0;      // routed experts on one GPU
  std::vector<double> reached_;  // [T]: share of the experts that T tokens of the group reach; all beyond its end

  double reduce_latency_ = 0, reduce_token_ = 0;
  double dispatch_latency_ = 0, dispatch_token_ = 0, combine_latency_ = 0, combine_token_ = 0;
  double hop_latency_ = 0, hop_token_ = 0;
};

// How many GPUs share what in a group, for times and for memory alike.
WeightSplit weight_split(const StepSetup& setup);

}  // namespace baton::sim
