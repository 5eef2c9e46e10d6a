// ModelShape from GGUF metadata. Keys: ggml-org/ggml, docs/gguf.md; defaults: the same, and the families' own configs.

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "model/files/dequantize.h"
#include "model/files/file_error.h"
#include "model/files/model_shape.h"

namespace baton {
namespace {

std::uint32_t narrow(const GgufFile& file, const std::string& key, std::uint64_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max()) {
    fail_file(file.name(), fmt::format("key {} is {}, which is out of range", in_quotes(key), value));
  }
  return static_cast<std::uint32_t>(value);
}

// Keys of one architecture: "llama." in front of each.
class ArchitectureKeys final {
 public:
  ArchitectureKeys(const GgufFile& file, std::string_view architecture) : file_(file), prefix_(architecture) {
    prefix_ += '.';
  }

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  std::uint32_t get(std::string_view name) const { return narrow(file_, key(name), file_.get_u64(key(name))); }

  // A size that may be given once or once a layer; different layers are not supported.
  std::optional<std::uint32_t> find_uniform(std::string_view name) const {
    const std::string full = key(name);
    const GgufValue* const value = file_.find(full);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (value->kind != GgufKind::array) {
      return get(name);
    }
    const std::vector<std::int64_t> sizes = *file_.find_i64s(full);
    for (const std::int64_t size : sizes) {
      if (size < 0 || size != sizes.front()) {
        fail_file(file_.name(),
                  fmt::format("key {} differs from layer to layer, which is not supported", in_quotes(full)));
      }
    }
    if (sizes.empty()) {
      fail_file(file_.name(), fmt::format("key {} is an empty array", in_quotes(full)));
    }
    return narrow(file_, full, static_cast<std::uint64_t>(sizes.front()));
  }

  std::uint32_t get_uniform(std::string_view name) const {
    const auto value = find_uniform(name);
    return value ? *value : get(name);  // get() says that it is missing
  }

  // Refuses a model that sets a switch which the engine does not have, to anything but `harmless`.
  void refuse(std::string_view name, double harmless) const {
    const auto value = file_.find_f64(key(name));
    if (value && *value != harmless) {
      fail_file(file_.name(), fmt::format("key {} is {}, which is not supported", in_quotes(key(name)), *value));
    }
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

Architecture read_architecture(const GgufFile& file) {
  const std::string_view name = file.get_string("general.architecture");
  for (const Architecture known : {Architecture::llama, Architecture::qwen2, Architecture::qwen3}) {
    if (name == to_string(known)) {
      return known;
    }
  }
  fail_file(file.name(), fmt::format("architecture {} is not supported; llama, qwen2 and qwen3 are", in_quotes(name)));
}

void refuse_unsupported(const ArchitectureKeys& keys) {
  keys.refuse("expert_count", 0);
  keys.refuse("attention.sliding_window", 0);
  keys.refuse("attention.scale", 0);
  keys.refuse("attention.clamp_kqv", 0);
  keys.refuse("attention.max_alibi_bias", 0);
  keys.refuse("attn_logit_softcapping", 0);
  keys.refuse("final_logit_softcapping", 0);
  keys.refuse("logit_scale", 0);
  keys.refuse("embedding_scale", 0);
  keys.refuse("residual_scale", 0);
}

RopeShape read_rope(const GgufFile& file, const ArchitectureKeys& keys, std::uint32_t head_dim) {
  RopeShape rope;
  rope.base = file.find_f64(keys.key("rope.freq_base")).value_or(10000.0);
  const auto rotated = file.find_u64(keys.key("rope.dimension_count"));
  if (rotated && *rotated != head_dim) {
    fail_file(file.name(),
              fmt::format("rotates {} of {} values a head: partial RoPE is not supported", *rotated, head_dim));
  }
  const std::string_view scaling = file.find_string(keys.key("rope.scaling.type")).value_or("none");
  if (scaling == "linear") {
    rope.scaling = RopeScaling::linear;
    rope.factor = file.get_f64(keys.key("rope.scaling.factor"));
  } else if (scaling != "none") {
    fail_file(file.name(), fmt::format("RoPE scaling {} is not supported; linear and llama3 are", in_quotes(scaling)));
  } else if (const auto old_factor = file.find_f64(keys.key("rope.scale_linear")); old_factor && *old_factor != 1) {
    rope.scaling = RopeScaling::linear;
    rope.factor = *old_factor;
  }
  const GgufTensor* const divisors = file.find_tensor("rope_freqs.weight");
  if (divisors == nullptr) {
    return rope;
  }
  if (rope.scaling != RopeScaling::none || divisors->dims[0] != head_dim / 2 || divisors->dimensions != 1) {
    fail_file(file.name(),
              fmt::format("tensor 'rope_freqs.weight' of {} values does not fit heads of {} values and RoPE "
                          "scaling {}",
                          divisors->dims[0], head_dim, in_quotes(to_string(rope.scaling))));
  }
  rope.scaling = RopeScaling::divisors;
  rope.divisors.resize(head_dim / 2);
  if (rope.divisors.size() % block_elements(divisors->type) != 0) {
    fail_file(file.name(), fmt::format("tensor 'rope_freqs.weight' has type {}", to_string(divisors->type)));
  }
  dequantize_row(divisors->type, divisors->data.data(), rope.divisors.size(), rope.divisors.data());
  return rope;
}

std::uint32_t read_head_dim(const GgufFile& file, const ArchitectureKeys& keys, const ModelShape& shape) {
  if (const auto stated = file.find_u64(keys.key("attention.key_length"))) {
    const std::uint64_t value_length = file.find_u64(keys.key("attention.value_length")).value_or(*stated);
    if (value_length != *stated) {
      fail_file(file.name(),
                fmt::format("keys have {} values a head, values {}: this is not supported", *stated, value_length));
    }
    return narrow(file, keys.key("attention.key_length"), *stated);
  }
  if (shape.heads == 0 || shape.hidden % shape.heads != 0) {
    fail_file(file.name(), fmt::format("{} hidden values cannot be cut into {} heads", shape.hidden, shape.heads));
  }
  return shape.hidden / shape.heads;
}

std::uint32_t read_vocab(const GgufFile& file, const ArchitectureKeys& keys) {
  const GgufTensor* const embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr) {
    fail_file(file.name(), "tensor 'token_embd.weight' is missing");
  }
  const auto stated = file.find_u64(keys.key("vocab_size"));
  if (stated && *stated != embedding->dims[1]) {
    fail_file(file.name(),
              fmt::format("vocab_size is {}, but tensor 'token_embd.weight' has {} rows", *stated, embedding->dims[1]));
  }
  return narrow(file, keys.key("vocab_size"), embedding->dims[1]);
}

}  // namespace

ModelShape shape_from_gguf(const GgufFile& file) {
  ModelShape shape;
  shape.architecture = read_architecture(file);
  shape.name = file.find_string("general.name").value_or("");
  const ArchitectureKeys keys(file, to_string(shape.architecture));
  refuse_unsupported(keys);
  shape.layers = keys.get("block_count");
  shape.hidden = keys.get("embedding_length");
  shape.heads = keys.get_uniform("attention.head_count");
  shape.kv_heads = keys.find_uniform("attention.head_count_kv").value_or(shape.heads);
  shape.head_dim = read_head_dim(file, keys, shape);
  shape.ffn = keys.get_uniform("feed_forward_length");
  shape.vocab = read_vocab(file, keys);
  shape.context_length = keys.get("context_length");
  shape.rms_eps = file.get_f64(keys.key("attention.layer_norm_rms_epsilon"));
  shape.rope = read_rope(file, keys, shape.head_dim);
  shape.tie_embeddings = file.find_tensor("output.weight") == nullptr;
  shape.qkv_bias = shape.architecture == Architecture::qwen2 || file.find_tensor("blk.0.attn_q.bias") != nullptr;
  shape.qk_norm = shape.architecture == Architecture::qwen3;
  shape.validate(file.name());
  return shape;
}

}  // namespace baton
