#include "model/engine/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <xxhash.h>

#include "model/engine/weight_jobs.h"

namespace baton {
namespace {

constexpr std::size_t kAlignment = 64;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string layer_name(std::uint32_t layer, const char* rest) {
  return "model.layers." + std::to_string(layer) + "." + rest;
}

// Everything of the shape that changes what the weights mean; file names and other words do not.
std::uint64_t shape_hash(const ModelShape& shape) {
  const std::array<std::uint64_t, 12> sizes = {static_cast<std::uint64_t>(shape.architecture),
                                               shape.layers,
                                               shape.hidden,
                                               shape.heads,
                                               shape.kv_heads,
                                               shape.head_dim,
                                               shape.ffn,
                                               shape.vocab,
                                               shape.tie_embeddings,
                                               shape.qkv_bias,
                                               shape.qk_norm,
                                               1};
  const std::vector<float> frequencies = rope_frequencies(shape);
  const std::uint64_t first = XXH3_64bits(sizes.data(), sizeof(sizes));
  const std::uint64_t second = XXH3_64bits_withSeed(frequencies.data(), frequencies.size() * sizeof(float), first);
  return XXH3_64bits_withSeed(&shape.rms_eps, sizeof(shape.rms_eps), second);
}

}  // namespace

// Builds one Weights: plans where everything lies, then packs, then fills the small f32 arrays.
class WeightsLoader final {
 public:
  WeightsLoader(const ModelSource& source, const WeightsOptions& options)
      : source_(source), options_(options), weights_(new Weights()) {
    weights_->shape_ = source.shape();
    weights_->numerics_ = options.numerics;
    weights_->isa_ = options.pool != nullptr ? options.pool->isa() : kernels::host_isa();
    const std::uint32_t made_for = source.shape().context_length;
    weights_->context_length_ = options.context_length == 0 ? made_for : std::min(options.context_length, made_for);
  }

  std::shared_ptr<const Weights> load() {
    plan_matrices();
    const std::size_t matrix_bytes = place_matrices();
    plan_vectors();
    weights_->buffer_ = kernels::HugeBuffer(matrix_bytes + vector_bytes() + rope_bytes());
    place(matrix_bytes);
    const std::vector<std::uint64_t> hashes = pack(stacks_, options_);
    copy_vectors();
    fill_rope();
    finish_hash(hashes);
    release_file_pages(stacks_);
    return weights_;
  }

 private:
  struct VectorPlan {
    const float** target = nullptr;
    std::vector<float> values;
  };

  void plan_matrix(kernels::PackedMatrix& target, const std::vector<std::string>& names) {
    MatrixStack stack;
    stack.target = &target;
    for (const std::string& name : names) {
      stack.parts.push_back({name, source_.matrix(name)});
    }
    choose_format(stack, weights_->numerics_, weights_->isa_);
    stacks_.push_back(std::move(stack));
  }

  void plan_vector(const float*& target, const std::vector<std::string>& names) {
    VectorPlan plan;
    plan.target = &target;
    for (const std::string& name : names) {
      const std::vector<float> part = source_.vector(name);
      check_finite(name, part);
      plan.values.insert(plan.values.end(), part.begin(), part.end());
    }
    vectors_.push_back(std::move(plan));
  }

  void plan_matrices() {
    const ModelShape& shape = weights_->shape_;
    weights_->layers_.resize(shape.layers);
    plan_matrix(weights_->embedding_, {"model.embed_tokens.weight"});
    for (std::uint32_t i = 0; i < shape.layers; ++i) {
      LayerWeights& layer = weights_->layers_[i];
      plan_matrix(layer.qkv, {layer_name(i, "self_attn.q_proj.weight"), layer_name(i, "self_attn.k_proj.weight"),
                              layer_name(i, "self_attn.v_proj.weight")});
      plan_matrix(layer.output, {layer_name(i, "self_attn.o_proj.weight")});
      plan_matrix(layer.gate_up, {layer_name(i, "mlp.gate_proj.weight"), layer_name(i, "mlp.up_proj.weight")});
      plan_matrix(layer.down, {layer_name(i, "mlp.down_proj.weight")});
    }
    if (!shape.tie_embeddings) {
      plan_matrix(weights_->head_, {"lm_head.weight"});
    }
  }

  void plan_vectors() {
    const ModelShape& shape = weights_->shape_;
    plan_vector(weights_->final_norm_, {"model.norm.weight"});
    for (std::uint32_t i = 0; i < shape.layers; ++i) {
      LayerWeights& layer = weights_->layers_[i];
      plan_vector(layer.attention_norm, {layer_name(i, "input_layernorm.weight")});
      plan_vector(layer.ffn_norm, {layer_name(i, "post_attention_layernorm.weight")});
      if (shape.qkv_bias) {
        plan_vector(layer.qkv_bias, {layer_name(i, "self_attn.q_proj.bias"), layer_name(i, "self_attn.k_proj.bias"),
                                     layer_name(i, "self_attn.v_proj.bias")});
      }
      if (shape.qk_norm) {
        plan_vector(layer.q_norm, {layer_name(i, "self_attn.q_norm.weight")});
        plan_vector(layer.k_norm, {layer_name(i, "self_attn.k_norm.weight")});
      }
    }
  }

  // Offsets of the matrices from the start of the buffer; returns where they end.
  std::size_t place_matrices() {
    std::size_t offset = 0;
    for (MatrixStack& stack : stacks_) {
      stack.offset = offset;
      offset += aligned(stack.bytes());
    }
    return offset;
  }

  std::size_t vector_bytes() const {
    std::size_t bytes = 0;
    for (const VectorPlan& plan : vectors_) {
      bytes += aligned(plan.values.size() * sizeof(float));
    }
    return bytes;
  }

  std::size_t rope_bytes() const {
    return 2 * aligned(std::size_t{weights_->context_length_} * weights_->rope_width() * sizeof(float));
  }

  void place(std::size_t vectors_begin) {
    for (MatrixStack& stack : stacks_) {
      stack.data = weights_->buffer_.data() + stack.offset;
      *stack.target = stack.pack_target().matrix();
    }
    if (weights_->shape_.tie_embeddings) {
      weights_->head_ = weights_->embedding_;
    }
    next_ = weights_->buffer_.data() + vectors_begin;
  }

  float* take_floats(std::size_t count) {
    float* result = reinterpret_cast<float*>(next_);
    next_ += aligned(count * sizeof(float));
    return result;
  }

  void copy_vectors() {
    for (const VectorPlan& plan : vectors_) {
      float* place = take_floats(plan.values.size());
      std::copy(plan.values.begin(), plan.values.end(), place);
      *plan.target = place;
    }
  }

  // Angles in double: position * frequency in float would be off by 2e-4 rad at position 8,192.
  void fill_rope() {
    const std::vector<float> frequencies = rope_frequencies(weights_->shape_);
    const std::size_t count = std::size_t{weights_->context_length_} * frequencies.size();
    float* cosines = take_floats(count);
    float* sines = take_floats(count);
    weights_->rope_cos_ = cosines;
    weights_->rope_sin_ = sines;
    for (std::uint32_t position = 0; position < weights_->context_length_; ++position) {
      for (const float frequency : frequencies) {
        const double angle = static_cast<double>(position) * static_cast<double>(frequency);
        *cosines++ = static_cast<float>(std::cos(angle));
        *sines++ = static_cast<float>(std::sin(angle));
      }
    }
  }

  void finish_hash(const std::vector<std::uint64_t>& matrix_hashes) {
    std::uint64_t hash = shape_hash(weights_->shape_);
    hash = XXH3_64bits_withSeed(matrix_hashes.data(), matrix_hashes.size() * sizeof(std::uint64_t), hash);
    for (const VectorPlan& plan : vectors_) {
      hash = XXH3_64bits_withSeed(plan.values.data(), plan.values.size() * sizeof(float), hash);
    }
    weights_->model_hash_ = hash;
  }

  const ModelSource& source_;
  const WeightsOptions& options_;
  std::shared_ptr<Weights> weights_;
  std::vector<MatrixStack> stacks_;
  std::vector<VectorPlan> vectors_;
  std::byte* next_ = nullptr;
};

std::shared_ptr<const Weights> Weights::load(const ModelSource& source, const WeightsOptions& options) {
  return WeightsLoader(source, options).load();
}

}  // namespace baton
