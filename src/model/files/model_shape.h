// What kind of transformer a model file holds: sizes, RoPE, and the few switches that tell the families apart.
//
// Filled from GGUF metadata or from a Hugging Face config.json, then validated: past validate() every product of the
// sizes fits and the engine may rely on the relations. What baton cannot run (mixtures of experts, sliding windows,
// other RoPE scalings, quantised checkpoints of other tools, ...) is refused when it is read, with a message that names
// the field. Plain data, any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/files/gguf.h"

namespace baton {

enum class Architecture : std::uint8_t { llama, qwen2, qwen3 };

std::string_view to_string(Architecture architecture) noexcept;

// How the frequencies of RoPE are stretched for long contexts.
enum class RopeScaling : std::uint8_t {
  none,
  linear,    // every frequency is divided by `factor`
  llama3,    // low frequencies are divided by `factor`, high ones kept, those between are blended
  divisors,  // one divisor a pair, stored in the file (GGUF's rope_freqs.weight)
};

std::string_view to_string(RopeScaling scaling) noexcept;

struct RopeShape {
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;    // llama3 only
  double high_freq_factor = 4.0;   // llama3 only
  double original_context = 8192;  // llama3 only
  std::vector<float> divisors;     // (head_dim / 2), divisors only
};

struct ModelShape {
  std::string name;  // for people; may be empty
  Architecture architecture = Architecture::llama;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t ffn = 0;
  std::uint32_t vocab = 0;
  std::uint32_t context_length = 0;
  double rms_eps = 1e-5;
  RopeShape rope;
  bool tie_embeddings = false;  // the output head is the embedding matrix
  bool qkv_bias = false;        // q, k and v have a bias, o has none
  bool qk_norm = false;         // RMS norm over head_dim on q and k, before RoPE

  std::uint32_t q_rows() const noexcept { return heads * head_dim; }
  std::uint32_t kv_rows() const noexcept { return kv_heads * head_dim; }

  // Throws Error(Errc::bad_file) for the first size that is zero, absurd or does not fit the others; `origin` is the
  // file, for the message.
  void validate(const std::string& origin) const;
};

// The head_dim / 2 angles a position turns each pair by, scaling applied: theta(position, i) = position * result[i],
// pair i being the elements (i, i + head_dim / 2) of a head. Computed in double, rounded once.
// Sources: RoFormer (arXiv 2104.09864) for base^(-2i/head_dim); transformers, modeling_rope_utils.py, for llama3.
std::vector<float> rope_frequencies(const ModelShape& shape);

// From GGUF metadata. rope_freqs.weight, where present, becomes `rope.divisors`.
ModelShape shape_from_gguf(const GgufFile& file);

// From the text of a Hugging Face config.json; `origin` stands in messages.
ModelShape shape_from_config(std::string_view json, const std::string& origin);

}  // namespace baton
