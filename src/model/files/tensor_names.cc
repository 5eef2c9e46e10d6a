// The tensors of a model by their Hugging Face names, and what GGUF calls them.

#include <array>
#include <utility>

#include <fmt/format.h>

#include "model/files/model_source.h"
#include "runtime/check.h"

namespace baton {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr NamePair kGlobalNames[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

// After "model.layers.N." and "blk.N.".
constexpr NamePair kLayerNames[] = {
    {"input_layernorm.weight", "attn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},
    {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"post_attention_layernorm.weight", "ffn_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
};

constexpr std::string_view kLayerPrefix = "model.layers.";

void add_layer(const ModelShape& shape, std::uint32_t layer, std::vector<RequiredTensor>& tensors) {
  const auto add = [&](std::string_view name, std::uint64_t rows, std::uint64_t cols) {
    tensors.push_back({fmt::format("{}{}.{}", kLayerPrefix, layer, name), rows, cols});
  };
  add("input_layernorm.weight", 0, shape.hidden);
  add("self_attn.q_proj.weight", shape.q_rows(), shape.hidden);
  add("self_attn.k_proj.weight", shape.kv_rows(), shape.hidden);
  add("self_attn.v_proj.weight", shape.kv_rows(), shape.hidden);
  if (shape.qkv_bias) {
    add("self_attn.q_proj.bias", 0, shape.q_rows());
    add("self_attn.k_proj.bias", 0, shape.kv_rows());
    add("self_attn.v_proj.bias", 0, shape.kv_rows());
  }
  if (shape.qk_norm) {
    add("self_attn.q_norm.weight", 0, shape.head_dim);
    add("self_attn.k_norm.weight", 0, shape.head_dim);
  }
  add("self_attn.o_proj.weight", shape.hidden, shape.q_rows());
  add("post_attention_layernorm.weight", 0, shape.hidden);
  add("mlp.gate_proj.weight", shape.ffn, shape.hidden);
  add("mlp.up_proj.weight", shape.ffn, shape.hidden);
  add("mlp.down_proj.weight", shape.hidden, shape.ffn);
}

}  // namespace

std::vector<RequiredTensor> required_tensors(const ModelShape& shape) {
  std::vector<RequiredTensor> tensors;
  tensors.push_back({"model.embed_tokens.weight", shape.vocab, shape.hidden});
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    add_layer(shape, layer, tensors);
  }
  tensors.push_back({"model.norm.weight", 0, shape.hidden});
  if (!shape.tie_embeddings) {
    tensors.push_back({"lm_head.weight", shape.vocab, shape.hidden});
  }
  return tensors;
}

std::string gguf_tensor_name(std::string_view name) {
  for (const auto& [canonical, gguf] : kGlobalNames) {
    if (name == canonical) {
      return std::string(gguf);
    }
  }
  BATON_CHECK(name.starts_with(kLayerPrefix), name);
  const std::string_view tail = name.substr(kLayerPrefix.size());
  const std::size_t dot = tail.find('.');
  BATON_CHECK(dot != std::string_view::npos, name);
  for (const auto& [canonical, gguf] : kLayerNames) {
    if (tail.substr(dot + 1) == canonical) {
      return fmt::format("blk.{}.{}", tail.substr(0, dot), gguf);
    }
  }
  BATON_CHECK(false, name);
  return {};
}

}  // namespace baton
