#include "model/files/model_describe.h"

#include <array>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "model/files/file_error.h"

namespace baton {
namespace {

constexpr std::size_t kKeyColumn = 18;

class Lines final {
 public:
  void add(std::string_view key, const std::string& value) {
    fmt::format_to(std::back_inserter(text_), "{:<{}}{}\n", fmt::format("{}:", key), kKeyColumn, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string rope_text(const RopeShape& rope) {
  std::string text = fmt::format("base {}, scaling {}", rope.base, to_string(rope.scaling));
  if (rope.scaling == RopeScaling::linear || rope.scaling == RopeScaling::llama3) {
    text += fmt::format(" by {}", rope.factor);
  }
  return text;
}

// Bytes and number of tensors of each type, those that occur.
std::string types_text(const ModelSource& source) {
  struct Sum {
    std::uint64_t bytes = 0;
    std::size_t tensors = 0;
  };
  std::array<Sum, kTensorTypes.size()> sums{};
  for (const RequiredTensor& tensor : required_tensors(source.shape())) {
    const MatrixView view = source.matrix(tensor.name);
    Sum& sum = sums[static_cast<std::size_t>(view.type)];
    sum.bytes += view.rows * view.row_bytes;
    ++sum.tensors;
  }
  std::string text;
  for (const TensorType type : kTensorTypes) {
    const Sum& sum = sums[static_cast<std::size_t>(type)];
    if (sum.tensors != 0) {
      text += fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", to_string(type), readable_bytes(sum.bytes),
                          sum.tensors);
    }
  }
  return text;
}

std::string tokenizer_text(const ModelSource& source) {
  if (source.gguf() == nullptr) {
    std::error_code ignored;
    return std::filesystem::exists(source.directory() / "tokenizer.json", ignored) ? "tokenizer.json" : "none";
  }
  const auto kind = source.gguf()->find_string("tokenizer.ggml.model");
  const auto pre = source.gguf()->find_string("tokenizer.ggml.pre");
  if (!kind) {
    return "none";
  }
  return pre ? fmt::format("{}, pre-tokenizer {}", printable(*kind), printable(*pre)) : printable(*kind);
}

}  // namespace

std::string describe(const ModelSource& source) {
  const ModelShape& shape = source.shape();
  const std::uint64_t kv_values = std::uint64_t{2} * shape.layers * shape.kv_rows();
  Lines lines;
  lines.add("file", source.path().string());
  lines.add("format", source.gguf() != nullptr ? fmt::format("GGUF v{}", source.gguf()->version()) : "safetensors");
  lines.add("name", shape.name.empty() ? "-" : printable(shape.name));
  lines.add("architecture", std::string(to_string(shape.architecture)));
  lines.add("parameters", fmt::format("{:.1f} M", static_cast<double>(source.parameter_count()) / 1e6));
  lines.add("layers", fmt::format("{}", shape.layers));
  lines.add("hidden", fmt::format("{}, feed-forward {}", shape.hidden, shape.ffn));
  lines.add("heads", fmt::format("{} of {}, {} for keys and values", shape.heads, shape.head_dim, shape.kv_heads));
  lines.add("vocabulary", fmt::format("{}{}", shape.vocab, shape.tie_embeddings ? ", head tied to the embedding" : ""));
  lines.add("context", fmt::format("{}", shape.context_length));
  lines.add("rope", rope_text(shape.rope));
  lines.add("weights", fmt::format("{} on disk: {}", readable_bytes(source.file_bytes()), types_text(source)));
  lines.add("kv per token", fmt::format("{} as f16", readable_bytes(kv_values * 2)));
  lines.add("tokenizer", tokenizer_text(source));
  lines.add("chat template", template_family(source.chat_template()));
  lines.add("end tokens", fmt::format("{}", fmt::join(source.end_tokens(), ", ")));
  return lines.take();
}

std::string template_family(const std::optional<std::string>& chat_template) {
  if (!chat_template) {
    return "none";
  }
  if (chat_template->find("<|im_start|>") != std::string::npos) {
    return "chatml";
  }
  if (chat_template->find("<|start_header_id|>") != std::string::npos) {
    return "llama3";
  }
  return "unknown";
}

}  // namespace baton
