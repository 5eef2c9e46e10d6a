// How many tokens of keys and values a rank holds: given, or what its memory leaves; with the arithmetic in words.
//
// tokens = (fraction * memory - weights - activations - graphs - collectives) / bytes per token, on the fullest GPU of
// the rank. Published simulators lose more accuracy by a wrong capacity than by wrong step times, so a computed one is
// to be shown, and a given one is checked against the memory there is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/cost/step_setup.h"

namespace baton::sim {

struct MemorySetup {
  std::optional<std::uint64_t> kv_tokens;  // given; the rest is then only checked against all of the memory
  double fraction = 0.9;                   // of the memory that weights, keys and values and the rest below may take
  double activation_gib = 0;
  double graph_gib = 0;
  double collective_gib = 0;
  std::uint32_t sequences = 0;  // at one time: each keeps a window in every windowed layer besides its tokens
};

struct KvCapacity {
  std::uint64_t tokens = 0;
  bool computed = false;       // false: it was given
  double weight_bytes = 0;     // on the fullest GPU
  double bytes_per_token = 0;  // on each GPU
  std::string arithmetic;      // one line, with every number that went in
};

// Throws Error(too_large) with the arithmetic where not even one token fits, or less than was given.
KvCapacity kv_capacity(const StepSetup& setup, const MemorySetup& memory);

// Throws Error(too_large) with the arithmetic unless `sequences` of `tokens_each` fit at the same time.
void require_room(const KvCapacity& capacity, std::uint64_t sequences, std::uint64_t tokens_each);

// Bytes of keys and values of one token on each GPU of a rank. Latent vectors are on every GPU of a stage.
double kv_bytes_per_gpu(const StepSetup& setup);

}  // namespace baton::sim
