// The weights of a model as the CPU kernels want them: packed once, in one block of 2 MiB pages, for all ranks.
//
//   ModelSource (mapped file) --load()--> [ embedding | layer 0: qkv, o, gate+up, down, norms | ... | head | RoPE ]
//
// Matrices that read the same input are fused (q over k over v, gate over up), so that it is quantised once. Int8
// formats keep their blocks (Q4_0, Q4_1, Q8_0), everything else becomes bf16 or f16 (kernels/packed_matrix.h); parts of
// different formats are fused as f16. Numerics::exact makes f32 of all of it. Norms, biases and RoPE tables are f32.
//
// Owner: shared_ptr<const Weights>, one per process and model however many ranks there are. Threads: immutable. Packed
// for one instruction set: every pool that computes with them has the one they were loaded for (BATON_CHECK there).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/compute_pool.h"
#include "kernels/huge_buffer.h"
#include "kernels/packed_matrix.h"
#include "model/files/model_source.h"

namespace baton {

enum class Numerics : std::uint8_t {
  fast,   // int8 activations against int8 and int4 weights, 16-bit floats otherwise: what serves
  exact,  // f32 weights and activations: the oracle, four to six times the memory and slow
};

struct WeightsOptions {
  Numerics numerics = Numerics::fast;
  std::uint32_t context_length = 0;      // positions to make RoPE tables for; 0 or more than the model's: the model's
  kernels::ComputePool* pool = nullptr;  // packs in parallel where given, and for its instruction set
  // Bytes of the file packed so far, of the total. Called from the packing threads, one at a time, once per tensor.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

struct LayerWeights {
  const float* attention_norm = nullptr;  // (hidden)
  kernels::PackedMatrix qkv;              // (q_rows + 2 * kv_rows, hidden): q, then k, then v
  const float* qkv_bias = nullptr;        // (q_rows + 2 * kv_rows); null: none
  const float* q_norm = nullptr;          // (head_dim); null: none
  const float* k_norm = nullptr;          // (head_dim); null: none
  kernels::PackedMatrix output;           // (hidden, q_rows)
  const float* ffn_norm = nullptr;        // (hidden)
  kernels::PackedMatrix gate_up;          // (2 * ffn, hidden): gate, then up
  kernels::PackedMatrix down;             // (hidden, ffn)
};

class Weights final {
 public:
  // Reads every tensor once, checks for NaN and infinity, and gives the file's pages back to the system. The source
  // may be dropped afterwards. Throws Error(bad_file) when a weight is not a finite number (the message names the
  // tensor), std::bad_alloc when memory is short. Blocks; not for a rank's loop.
  static std::shared_ptr<const Weights> load(const ModelSource& source, const WeightsOptions& options);

  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  const ModelShape& shape() const noexcept { return shape_; }
  Numerics numerics() const noexcept { return numerics_; }
  kernels::Isa isa() const noexcept { return isa_; }
  std::uint32_t context_length() const noexcept { return context_length_; }

  // Hash of the shape and of all stored weight bytes: equal for two processes that loaded the same file, whatever their
  // numerics. Both sides of a hand-over compare it.
  std::uint64_t model_hash() const noexcept { return model_hash_; }
  std::size_t bytes() const noexcept { return buffer_.size(); }  // memory held, packed

  const kernels::PackedMatrix& embedding() const noexcept { return embedding_; }  // (vocab, hidden)
  const kernels::PackedMatrix& head() const noexcept { return head_; }  // the same one where the model ties them
  const float* final_norm() const noexcept { return final_norm_; }      // (hidden)
  const LayerWeights& layer(std::uint32_t index) const noexcept { return layers_[index]; }

  // (head_dim / 2) cosines and sines of a position below context_length().
  const float* rope_cos(std::uint32_t position) const noexcept { return rope_cos_ + position * rope_width(); }
  const float* rope_sin(std::uint32_t position) const noexcept { return rope_sin_ + position * rope_width(); }

 private:
  friend class WeightsLoader;
  Weights() = default;
  std::size_t rope_width() const noexcept { return shape_.head_dim / 2; }

  ModelShape shape_;
  Numerics numerics_ = Numerics::fast;
  kernels::Isa isa_ = kernels::Isa::portable;
  std::uint32_t context_length_ = 0;
  std::uint64_t model_hash_ = 0;
  kernels::HugeBuffer buffer_;
  kernels::PackedMatrix embedding_;
  kernels::PackedMatrix head_;
  const float* final_norm_ = nullptr;
  const float* rope_cos_ = nullptr;
  const float* rope_sin_ = nullptr;
  std::vector<LayerWeights> layers_;
};

}  // namespace baton
