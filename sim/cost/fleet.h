// How many nodes a steady load needs, by matching rates: the closed form that planners start from. No queues, no
// bursts: a lower bound.
#pragma once

namespace baton::sim {

struct FleetLoad {
  double input_tokens = 0;  // over the period, prompts
  double output_tokens = 0;
  double seconds = 0;               // the period
  double prefill_tokens_per_s = 0;  // of prompt, one node
  double decode_tokens_per_s = 0;   // of output, one node
};

struct Fleet {
  double prefill_nodes = 0;
  double decode_nodes = 0;

  double nodes() const noexcept { return prefill_nodes + decode_nodes; }
  double prefill_per_decode() const noexcept { return prefill_nodes / decode_nodes; }
};

constexpr Fleet match_rates(const FleetLoad& load) noexcept {
  return {load.input_tokens / load.seconds / load.prefill_tokens_per_s,
          load.output_tokens / load.seconds / load.decode_tokens_per_s};
}

}  // namespace baton::sim
