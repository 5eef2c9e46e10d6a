#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "model/files/model_shape.h"
#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

using Layers = std::vector<std::int32_t>;  // an array with one entry a layer
using Value = std::variant<std::uint32_t, float, std::string, Layers>;

// A GGUF file with the metadata of a small llama, changed by key; its one tensor is an embedding of 4 rows.
class Metadata final {
 public:
  Metadata& set(const std::string& key, const Value& value) {
    values_[key] = value;
    return *this;
  }
  Metadata& drop(const std::string& key) {
    values_.erase(key);
    return *this;
  }
  Metadata& divisors(std::uint64_t count) {
    divisors_ = count;
    return *this;
  }

  ModelShape shape() const {
    GgufImage image;
    image.head(divisors_ == 0 ? 1 : 2, values_.size());
    for (const auto& [key, value] : values_) {
      put(image, key, value);
    }
    image.tensor("token_embd.weight", {64, 4}, 0, 0);
    if (divisors_ != 0) {
      image.tensor("rope_freqs.weight", {divisors_}, 0, 1024);
    }
    image.pad().zeros(1024);
    for (std::uint64_t i = 0; i < divisors_; ++i) {
      image.number(2.0F);
    }
    return shape_from_gguf(image.parse());
  }

  std::string message() const {
    return bad_file_message([&] { shape(); });
  }

 private:
  static void put(GgufImage& image, const std::string& key, const Value& value) {
    if (const auto* const number = std::get_if<std::uint32_t>(&value)) {
      image.key(key, GgufKind::u32).u32(*number);
    } else if (const auto* const real = std::get_if<float>(&value)) {
      image.key(key, GgufKind::f32).number(*real);
    } else if (const auto* const text = std::get_if<std::string>(&value)) {
      image.key(key, GgufKind::string).string(*text);
    } else {
      const auto& layers = std::get<Layers>(value);
      image.array(key, GgufKind::i32, layers.size());
      for (const std::int32_t layer : layers) {
        image.number(layer);
      }
    }
  }

  std::uint64_t divisors_ = 0;
  std::map<std::string, Value> values_ = {
      {"general.architecture", "llama"},     {"llama.block_count", 2U},
      {"llama.context_length", 4096U},       {"llama.embedding_length", 64U},
      {"llama.feed_forward_length", 96U},    {"llama.attention.head_count", 4U},
      {"llama.attention.head_count_kv", 2U}, {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
  };
};

}  // namespace

TEST_CASE("shape_from_gguf: sizes and defaults") {
  const ModelShape shape = Metadata().shape();
  CHECK(shape.architecture == Architecture::llama);
  CHECK(shape.layers == 2);
  CHECK(shape.head_dim == 16);
  CHECK(shape.vocab == 4);
  CHECK(shape.rope.base == 10000.0);
  CHECK(shape.rope.scaling == RopeScaling::none);
  CHECK(shape.tie_embeddings);
  CHECK_FALSE(shape.qkv_bias);
  CHECK(Metadata().drop("llama.attention.head_count_kv").shape().kv_heads == 4);
}

TEST_CASE("shape_from_gguf: a head dimension of its own, and sizes given once a layer") {
  const ModelShape shape = Metadata()
                               .set("llama.attention.key_length", 32U)
                               .set("llama.attention.value_length", 32U)
                               .set("llama.feed_forward_length", Layers{96, 96})
                               .set("llama.attention.head_count_kv", Layers{2, 2})
                               .shape();
  CHECK(shape.head_dim == 32);
  CHECK(shape.ffn == 96);
  CHECK(shape.kv_heads == 2);
  CHECK(contains(Metadata().set("llama.attention.value_length", 8U).set("llama.attention.key_length", 16U).message(),
                 "keys have 16 values a head, values 8"));
  CHECK(
      contains(Metadata().set("llama.attention.head_count_kv", Layers{2, 4}).message(), "differs from layer to layer"));
  CHECK(contains(Metadata().set("llama.attention.head_count_kv", Layers{-1, -1}).message(), "differs from layer"));
  CHECK(contains(Metadata().set("llama.attention.head_count_kv", Layers{}).message(), "is an empty array"));
}

TEST_CASE("shape_from_gguf: RoPE scaling by type, by the old key and by stored divisors") {
  const ModelShape linear =
      Metadata().set("llama.rope.scaling.type", "linear").set("llama.rope.scaling.factor", 4.0F).shape();
  CHECK(linear.rope.scaling == RopeScaling::linear);
  CHECK(linear.rope.factor == 4.0);
  CHECK(Metadata().set("llama.rope.scale_linear", 2.0F).shape().rope.factor == 2.0);
  const ModelShape divided = Metadata().divisors(8).shape();
  CHECK(divided.rope.scaling == RopeScaling::divisors);
  CHECK(divided.rope.divisors == std::vector<float>(8, 2.0F));
  CHECK(contains(Metadata().divisors(4).message(), "'rope_freqs.weight' of 4 values does not fit"));
  CHECK(contains(Metadata().set("llama.rope.scaling.type", "yarn").message(), "RoPE scaling 'yarn' is not supported"));
}

TEST_CASE("shape_from_gguf: what cannot be run is refused by key") {
  CHECK(contains(Metadata().set("general.architecture", "mamba").message(), "architecture 'mamba' is not supported"));
  CHECK(contains(Metadata().set("llama.expert_count", 8U).message(), "key 'llama.expert_count' is 8"));
  CHECK(contains(Metadata().set("llama.attention.sliding_window", 512U).message(), "sliding_window' is 512"));
  CHECK(contains(Metadata().set("llama.logit_scale", 0.5F).message(), "key 'llama.logit_scale' is 0.5"));
  CHECK(contains(Metadata().set("llama.rope.dimension_count", 8U).message(), "rotates 8 of 16 values"));
  CHECK(contains(Metadata().set("llama.vocab_size", 5U).message(), "vocab_size is 5, but tensor"));
}

TEST_CASE("shape_from_gguf: missing and absurd keys are named") {
  CHECK(Metadata().drop("general.architecture").message() == "image: key 'general.architecture' is missing");
  CHECK(Metadata().drop("llama.block_count").message() == "image: key 'llama.block_count' is missing");
  CHECK(Metadata().drop("llama.feed_forward_length").message() == "image: key 'llama.feed_forward_length' is missing");
  CHECK(contains(Metadata().set("llama.attention.head_count", 0U).message(), "cannot be cut into 0 heads"));
  CHECK(contains(Metadata().set("llama.block_count", ~0U).message(), "number of layers is 4294967295"));
  CHECK(contains(Metadata().set("llama.context_length", "long").message(), "is of type string"));
}

}  // namespace baton::test
