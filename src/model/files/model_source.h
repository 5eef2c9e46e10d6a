// One view of a model's weights, whichever format they lie in: shape, tensors by Hugging Face name, tokenizer's place.
//
//   x.gguf ---------------------> GgufFile ------\                  /--> matrix("model.layers.0.mlp.up_proj.weight")
//   x.safetensors + config.json > SafetensorsFile -> ModelSource ----> vector("model.norm.weight")
//   directory of either --------/                                   \--> shape(), chat_template(), gguf(), directory()
//
// open() checks that every tensor the shape asks for is there with the right dimensions, so that matrix() and vector()
// cannot fail later. RoPE order is Hugging Face's (half-split) on this side of the view: rows of q and k of GGUF
// `llama` files are reordered row by row, a row being whole blocks.
//
// Owner: copies share the mapping; a MatrixView points into it and needs one of them alive. Threads: immutable, any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/files/gguf.h"
#include "model/files/model_shape.h"
#include "model/files/safetensors.h"
#include "runtime/ids.h"

namespace baton {

// A weight matrix (rows, cols), row-major, as stored; row r of the canonical order is at row(r).
struct MatrixView {
  TensorType type{};
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  const std::byte* data = nullptr;         // stored row 0; no alignment is promised
  std::size_t row_bytes = 0;               // stride between stored rows, and bytes of one
  std::uint32_t interleaved_head_dim = 0;  // not 0: rows are in GGUF's pair order within heads of this many rows

  // The stored row that holds canonical row r.
  std::uint64_t source_row(std::uint64_t r) const noexcept {
    if (interleaved_head_dim == 0) {
      return r;
    }
    // canonical row h*d + s*d/2 + i lies at stored row h*d + 2i + s (s is 0 or 1)
    const std::uint64_t half = interleaved_head_dim / 2;
    const std::uint64_t inside = r % interleaved_head_dim;
    return r - inside + 2 * (inside % half) + inside / half;
  }
  const std::byte* row(std::uint64_t r) const noexcept { return data + source_row(r) * row_bytes; }

  void copy_row(std::uint64_t r, std::span<float> out) const;  // dequantised; out has `cols` places (BATON_CHECK)
};

class ModelSource final {
 public:
  // Opens a .gguf file, a .safetensors file or .safetensors.index.json with config.json beside it, or a directory with
  // one of these in it. Throws Error: not_found, or bad_file with everything that is missing or of the wrong size.
  static ModelSource open(const std::filesystem::path& path);

  const ModelShape& shape() const noexcept;
  const std::filesystem::path& path() const noexcept;       // the file that holds the weights (first part, index)
  const std::filesystem::path& directory() const noexcept;  // the folder it lies in: tokenizer.json and so on
  std::uint64_t file_bytes() const noexcept;                // of all weight files together

  // By Hugging Face name: "model.embed_tokens.weight", "model.layers.3.self_attn.q_proj.weight", "lm_head.weight" (the
  // embedding where the model ties them). BATON_CHECKs that the shape knows the name; required_tensors() lists them.
  MatrixView matrix(std::string_view name) const;

  // Norms and biases as float, in canonical order: "model.layers.3.input_layernorm.weight",
  // "model.layers.3.self_attn.q_proj.bias", "model.norm.weight". BATON_CHECKs as matrix() does.
  std::vector<float> vector(std::string_view name) const;

  const GgufFile* gguf() const noexcept;                // nullptr: not a GGUF file; its metadata holds the tokenizer
  const SafetensorsFile* safetensors() const noexcept;  // nullptr: a GGUF file
  std::optional<std::string> chat_template() const;     // the Jinja text, from either place; empty: the model has none
  std::vector<TokenId> end_tokens() const;              // what ends generation (eos, eot, generation_config), each once
  std::optional<TokenId> begin_token() const;           // bos, if the model names one; whether to add it is not said

  std::uint64_t parameter_count() const noexcept;  // values in all tensors that the shape uses

 private:
  struct State;
  explicit ModelSource(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A tensor that a shape needs, under its Hugging Face name. rows is 0 for a vector of `cols` values.
struct RequiredTensor {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
};

// All tensors of a model of this shape, embedding first, then layer by layer, then norm and head (none when tied).
std::vector<RequiredTensor> required_tensors(const ModelShape& shape);

// GGUF's name of a tensor: "model.layers.3.mlp.up_proj.weight" is "blk.3.ffn_up.weight". BATON_CHECKs that it knows it.
std::string gguf_tensor_name(std::string_view name);

}  // namespace baton
