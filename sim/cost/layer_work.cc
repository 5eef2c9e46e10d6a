#include "sim/cost/layer_work.h"

#include <algorithm>

namespace baton::sim {
namespace {

double kv_heads_held(const ModelSpec& model, std::uint32_t tp) {
  return static_cast<double>((model.kv_heads + tp - 1) / tp);
}

ProductWork ffn_of_width(const ModelSpec& model, const Precision& precision, double width) {
  const double parameters = model.ffn_matrices() * model.hidden * width;
  const double a = bytes_of(precision.activations);
  return {2 * parameters, bytes_of(precision.weights) * parameters,
          a * (2.0 * model.hidden + model.ffn_matrices() * width), 2};
}

ProductWork grouped_products(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  const double q = static_cast<double>(model.heads) / tp * model.head_dim;
  const double kv = 2 * kv_heads_held(model, tp) * model.head_dim;
  const double parameters = static_cast<double>(model.hidden) * (q + kv) + q * model.hidden;
  const double a = bytes_of(precision.activations);
  return {2 * parameters, bytes_of(precision.weights) * parameters, a * (2.0 * model.hidden + 2 * q + kv), 2};
}

ProductWork latent_products(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  const double h = model.hidden;
  const double heads = static_cast<double>(model.heads) / tp;
  const double down = h * model.q_rank + h * (model.kv_rank + model.rope_dim);
  const double up = model.q_rank * heads * (model.nope_dim + model.rope_dim) +
                    model.kv_rank * heads * (model.nope_dim + model.value_dim) + heads * model.value_dim * h;
  const double a = bytes_of(precision.activations);
  const double widths = 2 * h + model.q_rank + model.kv_rank + model.rope_dim +
                        heads * (model.nope_dim + model.rope_dim + model.value_dim);
  return {2 * (down + up), bytes_of(precision.weights) * (down + up), a * widths, 4};
}

}  // namespace

ProductWork attention_products(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  return model.attention == AttentionKind::latent ? latent_products(model, precision, tp)
                                                  : grouped_products(model, precision, tp);
}

ProductWork dense_ffn(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  return ffn_of_width(model, precision, static_cast<double>(model.ffn_width) / tp);
}

ProductWork router(const ModelSpec& model, const Precision& precision) {
  const double parameters = model.router_parameters();
  const double a = bytes_of(precision.activations);
  return {2 * parameters, bytes_of(precision.weights) * parameters, a * (1.0 * model.hidden + model.experts), 1};
}

ProductWork one_expert(const ModelSpec& model, const Precision& precision, std::uint32_t split) {
  return ffn_of_width(model, precision, static_cast<double>(model.expert_width) / split);
}

ProductWork head(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  const double parameters = model.embedding_parameters() / tp;
  const double a = bytes_of(precision.activations);
  const double rows = static_cast<double>(model.vocabulary) / tp;
  return {2 * parameters, bytes_of(precision.weights) * parameters, a * (model.hidden + rows), 1};
}

AttentionWork prefill_attention(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  const double heads = static_cast<double>(model.heads) / tp;
  if (model.attention == AttentionKind::latent) {
    return {2 * heads * (model.nope_dim + model.rope_dim + model.value_dim), model.kv_layer_bytes(precision.kv), 0};
  }
  return {4 * heads * model.head_dim, bytes_of(precision.kv) * 2 * kv_heads_held(model, tp) * model.head_dim, 0};
}

AttentionWork decode_attention(const ModelSpec& model, const Precision& precision, std::uint32_t tp) {
  if (model.attention == AttentionKind::latent) {
    const double heads = static_cast<double>(model.heads) / tp;
    const double widths = heads * (2.0 * model.kv_rank + model.rope_dim);
    // Written by one kernel and read by the next, in two bytes.
    return {2 * widths, model.kv_layer_bytes(precision.kv), 2 * 2 * widths};
  }
  return prefill_attention(model, precision, tp);
}

double weight_bytes_per_gpu(const ModelSpec& model, const Precision& precision, const WeightSplit& split) {
  const double dense_layers = model.layers - model.mixture_layers();
  double bytes = model.layers * attention_products(model, precision, split.tp).weight_bytes;
  bytes += dense_layers * dense_ffn(model, precision, split.tp).weight_bytes;
  if (model.is_mixture()) {
    const double experts = split.experts_held * one_expert(model, precision, split.expert_split).weight_bytes;
    const double shared = model.experts_shared * one_expert(model, precision, split.shared_split).weight_bytes;
    bytes += model.mixture_layers() * (router(model, precision).weight_bytes + experts + shared);
  }
  const double ends = (model.tied_head ? 1 : 2) * head(model, precision, split.tp).weight_bytes;
  // The first stage holds the embedding, the last one the head: the fullest has one of them.
  return split.pp == 1 ? bytes + ends
                       : bytes / split.pp + std::max(ends / 2, head(model, precision, split.tp).weight_bytes);
}

}  // namespace baton::sim
