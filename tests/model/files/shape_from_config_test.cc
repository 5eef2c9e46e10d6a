#include <map>
#include <string>

#include <doctest/doctest.h>

#include "model/files/model_shape.h"
#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

// A config.json as JSON text by field; a field set to "" is left out.
class Config final {
 public:
  explicit Config(const std::string& model_type) { set("model_type", '"' + model_type + '"'); }

  Config& set(const std::string& field, const std::string& json) {
    fields_[field] = json;
    return *this;
  }

  ModelShape shape() const {
    std::string text = "{";
    for (const auto& [field, json] : fields_) {
      if (!json.empty()) {
        text += (text.size() > 1 ? "," : "") + ('"' + field) + "\":" + json;
      }
    }
    return shape_from_config(text + "}", "config.json");
  }

  std::string message() const {
    return bad_file_message([&] { shape(); });
  }

 private:
  std::map<std::string, std::string> fields_ = {{"hidden_size", "64"},
                                                {"intermediate_size", "96"},
                                                {"num_hidden_layers", "2"},
                                                {"num_attention_heads", "4"},
                                                {"num_key_value_heads", "2"},
                                                {"vocab_size", "380"},
                                                {"max_position_embeddings", "4096"},
                                                {"rms_norm_eps", "1e-6"}};
};

constexpr const char* kLlama3 = R"({"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
                                R"("original_max_position_embeddings":8192})";

}  // namespace

TEST_CASE("shape_from_config: the three families and their switches") {
  const ModelShape llama = Config("llama").shape();
  CHECK(llama.architecture == Architecture::llama);
  CHECK(llama.head_dim == 16);
  CHECK(llama.rms_eps == 1e-6);
  CHECK(llama.rope.base == 10000.0);
  CHECK_FALSE(llama.tie_embeddings);
  CHECK_FALSE(llama.qkv_bias);
  const ModelShape qwen2 = Config("qwen2").set("tie_word_embeddings", "true").shape();
  CHECK(qwen2.qkv_bias);
  CHECK_FALSE(qwen2.qk_norm);
  CHECK(qwen2.tie_embeddings);
  const ModelShape qwen3 = Config("qwen3").shape();
  CHECK(qwen3.qk_norm);
  CHECK_FALSE(qwen3.qkv_bias);
  CHECK(qwen3.head_dim == 128);
  CHECK(Config("qwen3").set("num_attention_heads", "6").shape().head_dim == 128);
  CHECK(Config("mistral").set("sliding_window", "null").shape().architecture == Architecture::llama);
  CHECK(Config("llama").set("num_key_value_heads", "").shape().kv_heads == 4);
}

TEST_CASE("shape_from_config: RoPE is read in the old and the new place") {
  const ModelShape old = Config("llama").set("rope_theta", "5e5").set("rope_scaling", kLlama3).shape();
  CHECK(old.rope.base == 5e5);
  CHECK(old.rope.scaling == RopeScaling::llama3);
  CHECK(old.rope.factor == 8);
  CHECK(old.rope.original_context == 8192);
  const ModelShape now = Config("qwen2").set("rope_parameters", R"({"rope_type":"default","rope_theta":1e6})").shape();
  CHECK(now.rope.base == 1e6);
  CHECK(now.rope.scaling == RopeScaling::none);
  const ModelShape linear = Config("llama").set("rope_scaling", R"({"type":"linear","factor":2})").shape();
  CHECK(linear.rope.scaling == RopeScaling::linear);
  CHECK(linear.rope.factor == 2);
  CHECK(Config("llama").set("rope_scaling", "null").shape().rope.scaling == RopeScaling::none);
}

TEST_CASE("shape_from_config: what cannot be run is refused by field") {
  CHECK(contains(Config("gemma").message(), "model_type 'gemma' is not supported"));
  CHECK(contains(Config("mistral").set("sliding_window", "4096").message(), "key 'sliding_window'"));
  CHECK(contains(Config("qwen2").set("use_sliding_window", "true").message(), "key 'use_sliding_window'"));
  CHECK(Config("qwen2").set("sliding_window", "4096").message() == "nothing was thrown");
  CHECK(contains(Config("qwen3").set("layer_types", R"(["full_attention","sliding_attention"])").message(),
                 "key 'layer_types'"));
  CHECK(contains(Config("llama").set("hidden_act", "\"gelu\"").message(), "key 'hidden_act'"));
  CHECK(
      contains(Config("llama").set("quantization_config", "{}").message(), "a quantised checkpoint is not supported"));
  CHECK(contains(Config("llama").set("attention_bias", "true").message(), "key 'attention_bias'"));
  CHECK(contains(Config("llama").set("mlp_bias", "true").message(), "key 'mlp_bias'"));
  CHECK(contains(Config("llama").set("num_local_experts", "8").message(), "a mixture of experts is not supported"));
  CHECK(contains(Config("llama").set("partial_rotary_factor", "0.5").message(), "partial RoPE is not supported"));
  CHECK(contains(Config("llama").set("rope_scaling", R"({"type":"yarn","factor":4})").message(),
                 "RoPE scaling 'yarn' is not supported"));
}

TEST_CASE("shape_from_config: missing, wrong and absurd values are refused by field") {
  CHECK(Config("llama").set("hidden_size", "").message() == "config.json: key 'hidden_size' is missing");
  CHECK(contains(Config("llama").set("hidden_size", "\"64\"").message(), "key 'hidden_size' is of type string"));
  CHECK(contains(Config("llama").set("hidden_size", "-64").message(), "key 'hidden_size'"));
  CHECK(contains(Config("llama").set("vocab_size", "99999999999").message(), "'vocab_size' is 99999999999"));
  CHECK(contains(Config("llama").set("num_hidden_layers", "0").message(), "number of layers is 0"));
  CHECK(contains(Config("llama").set("num_attention_heads", "0").message(), "cannot be cut into 0 heads"));
  CHECK(contains(Config("llama").set("num_attention_heads", "3").message(), "cannot be cut into 3 heads"));
  CHECK(contains(Config("llama").set("rope_scaling", R"({"rope_type":"llama3","factor":8})").message(),
                 "low_freq_factor is 0"));
  CHECK(contains(bad_file_message([] { shape_from_config("[]", "config.json"); }), "not an object"));
}

}  // namespace baton::test
