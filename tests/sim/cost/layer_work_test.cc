#include "sim/cost/layer_work.h"

#include <doctest/doctest.h>

#include "sim/cost/expert_skew.h"
#include "sim/cost/step_load.h"

namespace baton::sim {
namespace {

// FLOPs of all layers for one prompt: products, and attention.
struct PromptFlops {
  double products = 0;
  double attention = 0;
};

PromptFlops prompt_flops(const char* name, std::uint32_t tokens) {
  const ModelSpec model = load_model(name);
  const Precision precision;
  StepLoad load;
  load.add_prefill(tokens, 0, true);
  const double mixture = model.mixture_layers();
  PromptFlops flops;
  flops.products = model.layers * attention_products(model, precision, 1).flops_of(tokens);
  if (mixture < model.layers) {
    flops.products += (model.layers - mixture) * dense_ffn(model, precision, 1).flops_of(tokens);
  }
  if (mixture > 0) {
    const double experts = model.experts_active + model.experts_shared;
    flops.products += mixture * experts * one_expert(model, precision, 1).flops_of(tokens);
    flops.products += mixture * router(model, precision).flops_of(tokens);
  }
  flops.attention = model.layers * load.prefill_pairs * prefill_attention(model, precision, 1).flops_per_pair;
  return flops;
}

// The figures are worked out by hand from the published shapes, in TFLOPs.
TEST_CASE("layer work: prompts take the FLOPs of their shapes") {
  const auto check = [](const char* name, std::uint32_t tokens, double products, double attention) {
    CAPTURE(name);
    const PromptFlops flops = prompt_flops(name, tokens);
    CHECK(flops.products / 1e12 == doctest::Approx(products).epsilon(0.001));
    CHECK(flops.attention / 1e12 == doctest::Approx(attention).epsilon(0.001));
  };
  check("llama-3.1-8b", 2048, 28.59, 1.100);
  check("llama-3.1-70b", 2048, 280.38, 5.500);
  check("qwen3-32b", 2048, 127.82, 4.400);
  check("qwen3-235b-a22b", 4096, 171.6, 25.84);
  check("deepseek-v3", 4096, 292.4, 41.93);
}

TEST_CASE("layer work: DeepSeek-V3 takes 71.4 GFLOP a token, and 10.2 for attention in a prompt of 4,096") {
  const PromptFlops flops = prompt_flops("deepseek-v3", 4096);
  CHECK(flops.products / 4096 / 1e9 == doctest::Approx(71.4).epsilon(0.001));
  CHECK(flops.attention / 4096 / 1e9 == doctest::Approx(10.2).epsilon(0.005));
}

TEST_CASE("layer work: absorbed latent attention sits near the ridge of an H100") {
  const ModelSpec model = load_model("deepseek-v3");
  const AttentionWork work = decode_attention(model, Precision{}, 1);
  CHECK(work.flops_per_pair == 278'528);
  CHECK(work.flops_per_pair * 2050 * model.layers / 1e9 == doctest::Approx(34.8).epsilon(0.002));
  CHECK(work.flops_per_pair / work.bytes_per_context == doctest::Approx(242).epsilon(0.002));
}

TEST_CASE("layer work: a decode step of 64 sequences at 2,048 reads the weights and the cache once") {
  const Precision precision;
  const auto read = [&](const char* name) {
    const ModelSpec model = load_model(name);
    const double weights = model.layers * (attention_products(model, precision, 1).weight_bytes +
                                           dense_ffn(model, precision, 1).weight_bytes) +
                           head(model, precision, 1).weight_bytes;
    const double cache = 64.0 * 2048 * model.layers * decode_attention(model, precision, 1).bytes_per_context;
    return std::pair(weights / 1e9, cache / 1e9);
  };
  const auto [weights8, cache8] = read("llama-3.1-8b");
  CHECK(weights8 == doctest::Approx(15.01).epsilon(0.001));
  CHECK(cache8 == doctest::Approx(17.18).epsilon(0.001));
  CHECK((weights8 + cache8) / 3.35 == doctest::Approx(9.61).epsilon(0.001));
  const auto [weights70, cache70] = read("llama-3.1-70b");
  CHECK(weights70 == doctest::Approx(139.0).epsilon(0.001));
  CHECK(cache70 == doctest::Approx(42.95).epsilon(0.001));
}

TEST_CASE("layer work: splitting heads and widths splits the work, but not latent vectors nor scarce key heads") {
  const Precision precision;
  const ModelSpec llama = load_model("llama-3.1-70b");
  CHECK(attention_products(llama, precision, 8).flops * 8 == attention_products(llama, precision, 1).flops);
  CHECK(dense_ffn(llama, precision, 8).weight_bytes * 8 == dense_ffn(llama, precision, 1).weight_bytes);
  CHECK(decode_attention(llama, precision, 8).bytes_per_context * 8 ==
        decode_attention(llama, precision, 1).bytes_per_context);
  // Eight key heads over sixteen GPUs: each holds one.
  CHECK(decode_attention(llama, precision, 16).bytes_per_context ==
        decode_attention(llama, precision, 8).bytes_per_context);
  const ModelSpec v3 = load_model("deepseek-v3");
  CHECK(decode_attention(v3, precision, 8).bytes_per_context == decode_attention(v3, precision, 1).bytes_per_context);
  CHECK(attention_products(v3, precision, 8).flops * 8 > attention_products(v3, precision, 1).flops);
}

TEST_CASE("layer work: uniform routing reaches the experts that a coupon collector expects") {
  const auto reached = [](std::uint32_t experts, std::uint32_t active, double tokens) {
    return expected_experts(experts, active, tokens);
  };
  const double tokens[] = {1, 8, 32, 64, 128, 256};
  const double v3[] = {8, 57, 163, 222, 252, 256};
  const double qwen[] = {8, 52, 112, 126, 128};
  const double oss[] = {4, 29, 82, 111, 126};
  const double kimi[] = {8, 60, 188, 284, 358, 382};
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(tokens[i]);
    CHECK(std::abs(reached(256, 8, tokens[i]) - v3[i]) < 0.6);
    CHECK(std::abs(reached(384, 8, tokens[i]) - kimi[i]) < 0.6);
    if (i < 5) {
      CHECK(std::abs(reached(128, 8, tokens[i]) - qwen[i]) < 0.6);
      CHECK(std::abs(reached(128, 4, tokens[i]) - oss[i]) < 0.6);
    }
  }
  CHECK(reached(8, 2, 1) == doctest::Approx(2));
  CHECK(reached(8, 2, 8) == doctest::Approx(7.2).epsilon(0.01));
  CHECK(reached(8, 2, 32) == doctest::Approx(8).epsilon(0.001));
}

TEST_CASE("power_law_skew: no skew without a tail, more with a heavier one, and fewer experts a GPU are worse") {
  CHECK(power_law_skew({1.01, 256, 1, 8192}) == doctest::Approx(1));
  const double light = power_law_skew({0.6, 256, 64, 8192});
  const double heavy = power_law_skew({1.01, 256, 64, 8192});
  CHECK(light > 1.2);
  CHECK(heavy > light);
  CHECK(power_law_skew({1.01, 256, 32, 8192}) < heavy);
  // Measured grouped products at this setting take 3.2 times as long as uniform ones.
  CHECK(heavy == doctest::Approx(3.2).epsilon(0.2));
}

}  // namespace
}  // namespace baton::sim
