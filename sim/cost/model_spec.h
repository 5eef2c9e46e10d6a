// The shape of a model, as far as costs and sizes depend on it.
//
// Read from data/models/NAME.toml (or a file of the user's). A file may state the parameter counts and KV bytes that
// its publisher gives; they are compared with what the shape adds up to, so that a wrong figure is found when it is
// read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/cost/precision.h"

namespace baton::sim {

enum class AttentionKind : std::uint8_t {
  grouped,  // MHA, GQA, MQA: `kv_heads` pairs of keys and values of `head_dim`
  latent,   // MLA: one vector of kv_rank + rope_dim per token for all heads
};

struct ModelSpec {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t vocabulary = 0;
  bool tied_head = false;  // the head shares the embedding's weights

  AttentionKind attention = AttentionKind::grouped;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t q_rank = 0, kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;  // latent only
  std::uint32_t window = 0;        // tokens a windowed layer looks back; 0: no such layers
  std::uint32_t window_every = 0;  // every n-th layer is windowed: 2 means half of them

  std::uint32_t ffn_width = 0;  // of dense layers
  bool gated_ffn = true;        // three matrices (SwiGLU) or two

  std::uint32_t experts = 0;  // 0: dense throughout
  std::uint32_t experts_active = 0;
  std::uint32_t experts_shared = 0;
  std::uint32_t expert_width = 0;
  std::uint32_t dense_layers = 0;  // of a mixture: the first layers, which are dense
  std::uint32_t mtp_layers = 0;    // layers that predict further tokens; not part of `layers`

  bool is_mixture() const noexcept { return experts > 0; }
  std::uint32_t mixture_layers() const noexcept { return is_mixture() ? layers - dense_layers : 0; }
  std::uint32_t windowed_layers() const noexcept { return window == 0 ? 0 : layers / window_every; }
  double ffn_matrices() const noexcept { return gated_ffn ? 3 : 2; }

  // Per layer, without norms and biases.
  double attention_parameters() const noexcept;
  double dense_ffn_parameters() const noexcept;
  double expert_parameters() const noexcept;  // of one expert
  double router_parameters() const noexcept;

  double embedding_parameters() const noexcept;  // one matrix: vocabulary x hidden
  double parameters() const noexcept;            // of the whole model, embedding and head included
  double active_parameters() const noexcept;     // what one token uses, embedding and head included

  // Bytes of keys and values one token adds to one layer, and to all layers together.
  double kv_layer_bytes(Dtype kv) const noexcept;
  double kv_bytes_per_token(Dtype kv) const noexcept { return layers * kv_layer_bytes(kv); }
  // Of a sequence: windowed layers keep no more than their window.
  double kv_bytes(std::uint64_t tokens, Dtype kv) const noexcept;
};

// Reads the text of a model file; `file` is for messages. Throws Error for what is unknown, missing, absurd or does not
// add up.
ModelSpec parse_model(std::string_view text, const std::string& file);

// By name (data/models/NAME.toml, compiled in) or, where it ends in .toml, by path.
ModelSpec load_model(const std::string& name_or_path);

}  // namespace baton::sim
