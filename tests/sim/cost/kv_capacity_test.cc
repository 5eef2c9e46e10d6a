#include "sim/cost/kv_capacity.h"

#include <doctest/doctest.h>

#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

// The decode side of SGLang's 96-GPU set-up (LMSYS, May 2025): 72 GPUs, memory fraction 0.835.
StepSetup lmsys_setup() {
  StepSetup setup;
  setup.model = load_model("deepseek-v3");
  setup.hardware = load_hardware("h100");
  setup.precision = {Dtype::fp8_block, Dtype::fp8_block, Dtype::bf16};
  setup.parallel = {.tp = 1, .pp = 1, .ep = 72, .dp = 72};
  setup.redundant_experts = 32;
  return setup;
}

TEST_CASE("KvCapacity: a GPU of the 96-GPU set-up holds 27 GB of weights and 0.63 M tokens") {
  MemorySetup memory;
  memory.fraction = 0.835;
  const KvCapacity capacity = kv_capacity(lmsys_setup(), memory);
  CHECK(capacity.weight_bytes / 1e9 == doctest::Approx(27.2).epsilon(0.01));
  CHECK(static_cast<double>(capacity.tokens) / 1e6 == doctest::Approx(0.63).epsilon(0.02));
  CHECK(capacity.computed);
  CHECK(contains(capacity.arithmetic, "(0.835 * 80.00 GiB - 25."));
}

TEST_CASE("KvCapacity: 256 sequences of 2 k fit there, 256 of 4 k do not, and the refusal shows the arithmetic") {
  MemorySetup memory;
  memory.fraction = 0.835;
  const KvCapacity capacity = kv_capacity(lmsys_setup(), memory);
  require_room(capacity, 256, 2000 + 100);
  const std::string refusal = error_text([&] { require_room(capacity, 256, 4000 + 100); });
  CHECK(contains(refusal, "256 sequences of 4100 tokens need 1049600 tokens"));
  CHECK(contains(refusal, "at most 15"));
  CHECK(contains(refusal, "0.835 * 80.00 GiB"));
  require_room(capacity, 128, 4000 + 100);
}

TEST_CASE("KvCapacity: grouped caches are split over the GPUs of a rank, latent ones are not") {
  StepSetup setup;
  setup.model = load_model("llama-3.1-70b");
  setup.hardware = load_hardware("h100");
  setup.parallel = {.tp = 8};
  CHECK(kv_bytes_per_gpu(setup) == 327'680.0 / 8);
  setup.parallel = {.tp = 4, .pp = 2};
  CHECK(kv_bytes_per_gpu(setup) == 327'680.0 / 8);
  setup.parallel = {.tp = 16};
  CHECK(kv_bytes_per_gpu(setup) == 327'680.0 / 8);
  StepSetup latent = lmsys_setup();
  latent.parallel = {.tp = 8, .pp = 1, .ep = 8, .dp = 1};
  CHECK(kv_bytes_per_gpu(latent) == 70'272);
}

TEST_CASE("KvCapacity: a given capacity is believed, but not beyond the memory there is") {
  StepSetup setup;
  setup.model = load_model("llama-3.1-8b");
  setup.hardware = load_hardware("rtx4090");
  MemorySetup memory;
  memory.kv_tokens = 41'408;  // 2,588 blocks of 16, as vLLM 0.19 reported on this GPU
  const KvCapacity capacity = kv_capacity(setup, memory);
  CHECK(capacity.tokens == 41'408);
  CHECK_FALSE(capacity.computed);
  memory.kv_tokens = 100'000;
  CHECK(contains(error_text([&] { kv_capacity(setup, memory); }), "the memory of a GPU is too small: 100000 tokens"));
}

TEST_CASE("KvCapacity: a model that leaves no room is refused with the arithmetic") {
  StepSetup setup;
  setup.model = load_model("llama-3.1-70b");
  setup.hardware = load_hardware("h100");
  CHECK(contains(error_text([&] { kv_capacity(setup, MemorySetup{}); }),
                 "the model leaves no room for keys and values: (0.9 * 80.00 GiB - 131.4"));
  setup.parallel.tp = 2;
  MemorySetup memory;
  memory.activation_gib = 8;
  CHECK(contains(error_text([&] { kv_capacity(setup, memory); }), "8.00 activations"));
}

TEST_CASE("KvCapacity: windowed layers take their windows and nothing per token") {
  StepSetup setup;
  setup.model = load_model("gpt-oss-120b");
  setup.hardware = load_hardware("h200");
  CHECK(kv_bytes_per_gpu(setup) == 73'728.0 / 2);
  setup.precision.weights = Dtype::fp4;
  MemorySetup memory;
  const std::uint64_t alone = kv_capacity(setup, memory).tokens;
  memory.sequences = 256;
  // 256 windows of 128 tokens in half of the layers.
  CHECK(alone - kv_capacity(setup, memory).tokens == doctest::Approx(256 * 128).epsilon(0.001));
}

}  // namespace
}  // namespace baton::sim
