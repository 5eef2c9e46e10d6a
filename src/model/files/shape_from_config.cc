// ModelShape from a Hugging Face config.json. Fields and defaults: huggingface/transformers, configuration_llama.py,
// configuration_qwen2.py, configuration_qwen3.py.

#include <limits>
#include <optional>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "model/files/file_error.h"
#include "model/files/json_document.h"
#include "model/files/model_shape.h"

namespace baton {
namespace {

std::uint32_t narrow(const JsonObject& config, std::string_view key, std::uint64_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max()) {
    fail_file(config.origin(), fmt::format("key {} is {}, which is out of range", in_quotes(key), value));
  }
  return static_cast<std::uint32_t>(value);
}

std::uint32_t get_size(const JsonObject& config, std::string_view key) {
  return narrow(config, key, config.get_u64(key));
}

Architecture read_architecture(const JsonObject& config) {
  const std::string_view type = config.find_string("model_type").value_or("");
  if (type == "llama" || type == "mistral") {  // without its sliding window, mistral is llama
    return Architecture::llama;
  }
  if (type == "qwen2") {
    return Architecture::qwen2;
  }
  if (type == "qwen3") {
    return Architecture::qwen3;
  }
  fail_file(config.origin(),
            fmt::format("model_type {} is not supported; llama, mistral, qwen2 and qwen3 are", in_quotes(type)));
}

void refuse_if(const JsonObject& config, bool condition, std::string_view key, std::string_view why) {
  if (condition) {
    fail_file(config.origin(), fmt::format("key {}: {} not supported", in_quotes(key), why));
  }
}

void refuse_sliding_window(const JsonObject& config, Architecture architecture) {
  if (architecture == Architecture::llama) {
    refuse_if(config, config.find("sliding_window") != nullptr, "sliding_window", "sliding-window attention is");
  } else {
    refuse_if(config, config.find_bool("use_sliding_window").value_or(false), "use_sliding_window",
              "sliding-window attention is");
  }
  const boost::json::value* const layer_types = config.find("layer_types");
  if (layer_types == nullptr) {
    return;
  }
  refuse_if(config, !layer_types->is_array(), "layer_types", "anything but an array is");
  for (const boost::json::value& type : layer_types->get_array()) {
    refuse_if(config, !type.is_string() || type.get_string() != "full_attention", "layer_types",
              "a layer other than full_attention is");
  }
}

void refuse_unsupported(const JsonObject& config, Architecture architecture) {
  refuse_sliding_window(config, architecture);
  refuse_if(config, config.find_string("hidden_act").value_or("silu") != "silu", "hidden_act",
            "an activation other than silu is");
  refuse_if(config, config.find("quantization_config") != nullptr, "quantization_config", "a quantised checkpoint is");
  refuse_if(config, config.find_bool("mlp_bias").value_or(false), "mlp_bias", "a bias in the feed-forward part is");
  refuse_if(config, architecture != Architecture::qwen2 && config.find_bool("attention_bias").value_or(false),
            "attention_bias", "a bias of the attention output is");
  refuse_if(config, config.find_f64("partial_rotary_factor").value_or(1) != 1, "partial_rotary_factor",
            "partial RoPE is");
  for (const std::string_view key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    refuse_if(config, config.find_u64(key).value_or(0) != 0, key, "a mixture of experts is");
  }
}

void read_llama3(const JsonObject& scaling, RopeShape& rope) {
  rope.scaling = RopeScaling::llama3;
  rope.low_freq_factor = scaling.find_f64("low_freq_factor").value_or(0);  // 0: validate() says which one is missing
  rope.high_freq_factor = scaling.find_f64("high_freq_factor").value_or(0);
  rope.original_context = scaling.find_f64("original_max_position_embeddings").value_or(0);
}

// Up to transformers 4: rope_theta beside rope_scaling {rope_type or type, ...}, which may be null. Since 5: one
// rope_parameters {rope_type, rope_theta, ...}.
RopeShape read_rope(const JsonObject& config) {
  RopeShape rope;
  rope.base = config.find_f64("rope_theta").value_or(10000.0);
  auto scaling = config.find_object("rope_parameters");
  if (scaling) {
    rope.base = scaling->find_f64("rope_theta").value_or(rope.base);
  } else {
    scaling = config.find_object("rope_scaling");
  }
  if (!scaling) {
    return rope;
  }
  const auto type = scaling->find_string("rope_type");
  const std::string_view kind = type ? *type : scaling->find_string("type").value_or("default");
  if (kind == "default") {
    return rope;
  }
  rope.factor = scaling->find_f64("factor").value_or(0);
  if (kind == "linear") {
    rope.scaling = RopeScaling::linear;
  } else if (kind == "llama3") {
    read_llama3(*scaling, rope);
  } else {
    fail_file(config.origin(), fmt::format("RoPE scaling {} is not supported; linear and llama3 are", in_quotes(kind)));
  }
  return rope;
}

std::uint32_t read_head_dim(const JsonObject& config, const ModelShape& shape) {
  if (const auto stated = config.find_u64("head_dim")) {
    return narrow(config, "head_dim", *stated);
  }
  if (shape.architecture == Architecture::qwen3) {
    return 128;  // its own default, whatever hidden / heads may be
  }
  if (shape.heads == 0 || shape.hidden % shape.heads != 0) {
    fail_file(config.origin(), fmt::format("{} hidden values cannot be cut into {} heads", shape.hidden, shape.heads));
  }
  return shape.hidden / shape.heads;
}

}  // namespace

ModelShape shape_from_config(std::string_view json, const std::string& origin) {
  const boost::json::value document = parse_json(json, origin);
  const JsonObject config = JsonObject::root(document, origin);
  ModelShape shape;
  shape.architecture = read_architecture(config);
  refuse_unsupported(config, shape.architecture);
  shape.name = config.find_string("_name_or_path").value_or("");
  shape.layers = get_size(config, "num_hidden_layers");
  shape.hidden = get_size(config, "hidden_size");
  shape.heads = get_size(config, "num_attention_heads");
  shape.kv_heads = narrow(config, "num_key_value_heads", config.find_u64("num_key_value_heads").value_or(shape.heads));
  shape.head_dim = read_head_dim(config, shape);
  shape.ffn = get_size(config, "intermediate_size");
  shape.vocab = get_size(config, "vocab_size");
  shape.context_length = get_size(config, "max_position_embeddings");
  shape.rms_eps = config.find_f64("rms_norm_eps").value_or(1e-6);
  shape.rope = read_rope(config);
  shape.tie_embeddings = config.find_bool("tie_word_embeddings").value_or(false);
  shape.qkv_bias = shape.architecture == Architecture::qwen2;
  shape.qk_norm = shape.architecture == Architecture::qwen3;
  shape.validate(origin);
  return shape;
}

}  // namespace baton
