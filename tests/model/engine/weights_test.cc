// Weights: one packed copy of what the file says.
#include "model/engine/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "runtime/errors.h"

namespace baton::test {
namespace {

constexpr const char* kMixed = "tests/data/models/tiny-llama-mixed.gguf";

std::shared_ptr<const Weights> load(const std::string& model, Numerics numerics, kernels::ComputePool* pool = nullptr) {
  WeightsOptions options;
  options.numerics = numerics;
  options.pool = pool;
  return Weights::load(ModelSource::open(model), options);
}

std::vector<float> unpacked(const kernels::PackedMatrix& matrix, std::uint32_t row) {
  std::vector<float> values(matrix.cols);
  kernels::unpack_row(matrix, row, values.data());
  return values;
}

std::vector<float> stored(const ModelSource& source, const std::string& name, std::uint64_t row) {
  const MatrixView view = source.matrix(name);
  std::vector<float> values(view.cols);
  view.copy_row(row, values);
  return values;
}

// A copy of a model file in which the first bytes of a tensor are overwritten.
std::filesystem::path damaged_copy(const std::string& model, const std::string& tensor, std::uint32_t bits,
                                   std::size_t bytes) {
  std::ifstream in(model, std::ios::binary);
  std::vector<char> image((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto data = std::as_bytes(std::span(image));
  const GgufFile file = GgufFile::parse(data, model);
  const GgufTensor* found = file.find_tensor(tensor);
  REQUIRE(found != nullptr);
  std::memcpy(image.data() + (found->data.data() - data.data()), &bits, bytes);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("baton_weights_test_{}.gguf", ::getpid());
  std::ofstream(path, std::ios::binary).write(image.data(), static_cast<std::streamsize>(image.size()));
  return path;
}

TEST_CASE("Weights: every fused row is the row of its part") {
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    const ModelSource source = ModelSource::open(kMixed);
    const auto weights = load(kMixed, numerics);
    const ModelShape& shape = weights->shape();
    // 16-bit floats hold what Q4, Q8 and F16 blocks say but for rounding; f32 holds it as it is.
    const float tolerance = numerics == Numerics::exact ? 0.0F : 1.0F / 256;
    const auto same = [&](const std::vector<float>& a, const std::vector<float>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [&](float x, float y) { return std::fabs(x - y) <= tolerance * std::fabs(y); });
    };
    for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
      const LayerWeights& packed = weights->layer(layer);
      const std::string prefix = fmt::format("model.layers.{}.", layer);
      REQUIRE(packed.qkv.rows == shape.q_rows() + 2 * shape.kv_rows());
      for (std::uint32_t row = 0; row < shape.q_rows(); ++row) {
        CHECK(same(unpacked(packed.qkv, row), stored(source, prefix + "self_attn.q_proj.weight", row)));
      }
      for (std::uint32_t row = 0; row < shape.kv_rows(); ++row) {
        CHECK(
            same(unpacked(packed.qkv, shape.q_rows() + row), stored(source, prefix + "self_attn.k_proj.weight", row)));
        CHECK(same(unpacked(packed.qkv, shape.q_rows() + shape.kv_rows() + row),
                   stored(source, prefix + "self_attn.v_proj.weight", row)));
      }
      for (std::uint32_t row = 0; row < shape.ffn; ++row) {
        CHECK(same(unpacked(packed.gate_up, row), stored(source, prefix + "mlp.gate_proj.weight", row)));
        CHECK(same(unpacked(packed.gate_up, shape.ffn + row), stored(source, prefix + "mlp.up_proj.weight", row)));
      }
      const std::vector<float> norm = source.vector(prefix + "input_layernorm.weight");
      CHECK(std::equal(norm.begin(), norm.end(), packed.attention_norm));
    }
  }
}

TEST_CASE("Weights: the model hash knows the file, not how it was packed") {
  kernels::ComputePool pool(3);
  const std::uint64_t hash = load(kMixed, Numerics::fast)->model_hash();
  CHECK(load(kMixed, Numerics::exact)->model_hash() == hash);
  CHECK(load(kMixed, Numerics::fast, &pool)->model_hash() == hash);
  CHECK(load("tests/data/models/tiny-llama-3.gguf", Numerics::fast)->model_hash() != hash);
  const auto path = damaged_copy(kMixed, "output_norm.weight", 0x3F000000, 4);  // 0.5
  CHECK(load(path.string(), Numerics::fast)->model_hash() != hash);
  std::filesystem::remove(path);
}

TEST_CASE("Weights: packing on a pool gives the same bytes as packing alone") {
  kernels::ComputePool pool(3);
  const auto alone = load(kMixed, Numerics::fast);
  const auto together = load(kMixed, Numerics::fast, &pool);
  const kernels::PackedMatrix& a = alone->layer(0).gate_up;
  const kernels::PackedMatrix& b = together->layer(0).gate_up;
  REQUIRE(a.format == b.format);
  CHECK(std::memcmp(a.data, b.data, kernels::packed_bytes(a.format, a.rows, a.cols)) == 0);
  CHECK(alone->bytes() == together->bytes());
}

TEST_CASE("Weights: a NaN or an infinity is refused with the tensor's name") {
  struct Damage {
    const char* tensor;
    const char* name;
    std::uint32_t bits;
    std::size_t bytes;
  };
  const ModelSource source = ModelSource::open(kMixed);
  const std::string type(to_string(source.matrix("model.layers.0.mlp.down_proj.weight").type));
  INFO("down_proj is ", type);
  REQUIRE(type.starts_with("Q"));  // its first two bytes are a scale
  const Damage damages[] = {{"output_norm.weight", "model.norm.weight", 0x7FC00000, 4},
                            {"blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight", 0x7C00, 2}};
  for (const Damage& damage : damages) {
    const auto path = damaged_copy(kMixed, damage.tensor, damage.bits, damage.bytes);
    try {
      (void)load(path.string(), Numerics::fast);
      FAIL("loaded");
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::bad_file);
      CHECK(std::string(error.what()).find(damage.name) != std::string::npos);
    }
    std::filesystem::remove(path);
  }
}

TEST_CASE("Weights: progress grows to the total") {
  WeightsOptions options;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  bool grows = true;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    grows = grows && done > last && (total == 0 || of == total);
    last = done;
    total = of;
  };
  const ModelSource source = ModelSource::open(kMixed);
  (void)Weights::load(source, options);
  CHECK(grows);
  CHECK(last == total);
  CHECK(total <= source.file_bytes());
  CHECK(total > source.file_bytes() / 2);
}

TEST_CASE("Weights: RoPE tables end at the context length and hold cosines and sines of the angles") {
  WeightsOptions options;
  options.context_length = 33;
  const auto weights = Weights::load(ModelSource::open("tests/data/models/tiny-llama-3.gguf"), options);
  CHECK(weights->context_length() == 33);
  const std::vector<float> frequencies = rope_frequencies(weights->shape());
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    CHECK(weights->rope_cos(0)[i] == 1.0F);
    CHECK(weights->rope_sin(0)[i] == 0.0F);
    CHECK(static_cast<double>(weights->rope_sin(32)[i]) ==
          doctest::Approx(std::sin(32.0 * static_cast<double>(frequencies[i]))).epsilon(1e-6));
  }
  options.context_length = 1U << 30;
  const auto all = Weights::load(ModelSource::open("tests/data/models/tiny-llama-3.gguf"), options);
  CHECK(all->context_length() == all->shape().context_length);
}

}  // namespace
}  // namespace baton::test
