// What the parts of one layer compute and move on one GPU: FLOPs and bytes, as coefficients of tokens, query-key pairs
// and context. Pure arithmetic on shapes; times are made of it in roofline.h.
//
// The counts are those of every roofline study (two FLOPs per multiply-add; weights once per step, activations once in
// and once out); nothing is said about how close a kernel comes to them.
#pragma once

#include <cstdint>

#include "sim/cost/model_spec.h"
#include "sim/cost/precision.h"

namespace baton::sim {

// A product of activations with weights, for T rows: FLOPs = T * flops, bytes = weight_bytes + T * bytes.
struct ProductWork {
  double flops = 0;
  double weight_bytes = 0;
  double bytes = 0;
  double kernels = 0;  // launched one after another

  double flops_of(double tokens) const noexcept { return tokens * flops; }
  double bytes_of(double tokens) const noexcept { return weight_bytes + tokens * bytes; }
};

// Attention proper: FLOPs = pairs * flops_per_pair, bytes = context tokens * bytes_per_context, and for each row what
// goes through memory around it (the queries and outputs of absorbed latent attention are 4.5 times as wide as others).
struct AttentionWork {
  double flops_per_pair = 0;
  double bytes_per_context = 0;
  double bytes_per_row = 0;
};

// `tp`: GPUs that split the heads and widths. The down-projections of latent attention are not split, nor are its
// cached vectors; of grouped keys and values each GPU holds ceil(kv_heads / tp) heads.
ProductWork attention_products(const ModelSpec& model, const Precision& precision, std::uint32_t tp);
ProductWork dense_ffn(const ModelSpec& model, const Precision& precision, std::uint32_t tp);
ProductWork router(const ModelSpec& model, const Precision& precision);
ProductWork one_expert(const ModelSpec& model, const Precision& precision, std::uint32_t split);  // shared ones alike
ProductWork head(const ModelSpec& model, const Precision& precision, std::uint32_t tp);           // per sampled row

// Latent attention expands keys and values of prompts and absorbs the expansion into the queries for decode.
AttentionWork prefill_attention(const ModelSpec& model, const Precision& precision, std::uint32_t tp);
AttentionWork decode_attention(const ModelSpec& model, const Precision& precision, std::uint32_t tp);

// Bytes of weights one GPU of a rank holds, the embedding and the head included. `experts_held`: routed experts per GPU
// and layer; `expert_split`: GPUs that share each; `shared_split`: GPUs that share the shared experts; `pp`: stages.
struct WeightSplit {
  std::uint32_t tp = 1;
  std::uint32_t pp = 1;
  double experts_held = 0;
  std::uint32_t expert_split = 1;
  std::uint32_t shared_split = 1;
};
double weight_bytes_per_gpu(const ModelSpec& model, const Precision& precision, const WeightSplit& split);

}  // namespace baton::sim
