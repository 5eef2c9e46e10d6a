#include "model/files/model_source.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = "tests/data/models";

// A copy of a model directory in which single files can be changed.
class CopiedModel final {
 public:
  explicit CopiedModel(const std::string& name) {
    fs::copy(kModels / name, folder_.path(), fs::copy_options::recursive);
  }

  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_file(folder_.path() / file);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    folder_.write(file, text.replace(at, from.size(), to));
  }
  void remove(const std::string& file) const { fs::remove(folder_.path() / file); }
  const TemporaryFolder& folder() const noexcept { return folder_; }
  std::string message() const {
    return bad_file_message([&] { ModelSource::open(folder_.path()); });
  }

 private:
  TemporaryFolder folder_;
};

void check_same_weights(const ModelSource& left, const ModelSource& right) {
  for (const RequiredTensor& tensor : required_tensors(left.shape())) {
    CAPTURE(tensor.name);
    if (tensor.rows == 0) {
      CHECK(left.vector(tensor.name) == right.vector(tensor.name));
      continue;
    }
    const MatrixView one = left.matrix(tensor.name);
    const MatrixView other = right.matrix(tensor.name);
    REQUIRE(one.rows == tensor.rows);
    REQUIRE(other.rows == tensor.rows);
    std::vector<float> one_row(tensor.cols);
    std::vector<float> other_row(tensor.cols);
    std::size_t different = 0;
    for (std::uint64_t row = 0; row < tensor.rows; ++row) {
      one.copy_row(row, one_row);
      other.copy_row(row, other_row);
      different += one_row == other_row ? 0U : 1U;
    }
    CHECK(different == 0);
  }
}

}  // namespace

TEST_CASE("MatrixView: the row order of GGUF's llama files is undone within each head") {
  MatrixView view;
  view.interleaved_head_dim = 8;
  // stored pairs (0, 1), (2, 3), ... are the canonical (0, 4), (1, 5), ...
  const std::vector<std::uint64_t> wanted = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (std::uint64_t row = 0; row < wanted.size(); ++row) {
    CHECK(view.source_row(row) == wanted[row]);
  }
  view.interleaved_head_dim = 0;
  CHECK(view.source_row(5) == 5);
}

TEST_CASE("ModelSource: GGUF and safetensors of one model give the same shape and the same weights") {
  for (const char* const name : {"tiny-llama-3", "tiny-qwen2", "tiny-qwen3"}) {
    CAPTURE(name);
    const ModelSource gguf = ModelSource::open(kModels / (std::string(name) + ".gguf"));
    const ModelSource directory = ModelSource::open(kModels / name);
    CHECK(gguf.gguf() != nullptr);
    CHECK(gguf.safetensors() == nullptr);
    CHECK(directory.gguf() == nullptr);
    CHECK(directory.safetensors() != nullptr);
    const ModelShape& one = gguf.shape();
    const ModelShape& other = directory.shape();
    CHECK(one.architecture == other.architecture);
    CHECK(one.layers == other.layers);
    CHECK(one.hidden == other.hidden);
    CHECK(one.heads == other.heads);
    CHECK(one.kv_heads == other.kv_heads);
    CHECK(one.head_dim == other.head_dim);
    CHECK(one.ffn == other.ffn);
    CHECK(one.vocab == other.vocab);
    CHECK(one.context_length == other.context_length);
    CHECK(one.rms_eps == doctest::Approx(other.rms_eps));
    CHECK(one.tie_embeddings == other.tie_embeddings);
    CHECK(one.qkv_bias == other.qkv_bias);
    CHECK(one.qk_norm == other.qk_norm);
    CHECK(gguf.parameter_count() == directory.parameter_count());
    CHECK(gguf.end_tokens() == directory.end_tokens());
    CHECK(gguf.chat_template() == directory.chat_template());
    CHECK(gguf.chat_template().has_value());
    check_same_weights(gguf, directory);
  }
}

TEST_CASE("ModelSource: stored RoPE divisors and the llama3 formula give the same frequencies") {
  const auto stored = rope_frequencies(ModelSource::open(kModels / "tiny-llama-3.gguf").shape());
  const auto computed = rope_frequencies(ModelSource::open(kModels / "tiny-llama-3").shape());
  REQUIRE(stored.size() == computed.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    CHECK(stored[i] == doctest::Approx(computed[i]).epsilon(1e-6));
  }
}

TEST_CASE("ModelSource: the chat model has what a tokenizer needs") {
  const ModelSource source = ModelSource::open(kModels / "tiny-chat.gguf");
  CHECK(source.end_tokens() == std::vector<TokenId>{0, 2});
  CHECK(source.begin_token() == 1);
  CHECK(contains(source.chat_template().value(), "<|im_start|>"));
  CHECK(source.gguf()->get_string("tokenizer.ggml.pre") == "smollm");
  CHECK(source.directory() == kModels);
  const MatrixView head = source.matrix("lm_head.weight");
  CHECK(head.data == source.matrix("model.embed_tokens.weight").data);
  CHECK(head.type == TensorType::Q8_0);
  CHECK(source.matrix("model.layers.1.mlp.down_proj.weight").type == TensorType::Q4_1);
}

TEST_CASE("ModelSource: every tensor type can be read from a model") {
  std::vector<TensorType> seen;
  for (const char* const name : {"tiny-llama-mixed.gguf", "tiny-llama-k.gguf"}) {
    const ModelSource source = ModelSource::open(kModels / name);
    for (const RequiredTensor& tensor : required_tensors(source.shape())) {
      const MatrixView view = source.matrix(tensor.name);
      seen.push_back(view.type);
      std::vector<float> row(view.cols);
      view.copy_row(view.rows - 1, row);
      CHECK(std::ranges::any_of(row, [](float value) { return value != 0; }));
      CHECK(std::ranges::all_of(row, [](float value) { return value > -20 && value < 20; }));
    }
  }
  for (const TensorType type : kTensorTypes) {
    CAPTURE(to_string(type));
    CHECK(std::ranges::find(seen, type) != seen.end());
  }
}

TEST_CASE("ModelSource: a bias of q or k in a GGUF llama file is reordered like its rows") {
  const ModelSource source = ModelSource::open(kModels / "tiny-llama-mixed.gguf");
  const GgufTensor* const stored = source.gguf()->find_tensor("blk.0.attn_q.bias");
  REQUIRE(stored != nullptr);
  const std::vector<float> bias = source.vector("model.layers.0.self_attn.q_proj.bias");
  float second = 0;
  std::memcpy(&second, stored->data.data() + sizeof second, sizeof second);
  CHECK(bias[8] == second);  // stored row 1 of a head of 16 is its canonical row 8
  const auto untouched = source.vector("model.layers.0.self_attn.v_proj.bias");
  std::memcpy(&second, source.gguf()->find_tensor("blk.0.attn_v.bias")->data.data() + sizeof second, sizeof second);
  CHECK(untouched[1] == second);
}

TEST_CASE("ModelSource: paths that hold no model are refused") {
  const TemporaryFolder folder;
  const auto message = [](const fs::path& path) { return bad_file_message([&] { ModelSource::open(path); }); };
  CHECK(contains(message(folder.path() / "absent.gguf"), "absent.gguf: cannot open"));
  CHECK(contains(message(folder.path()), "holds no .gguf or .safetensors file"));
  CHECK(contains(message(folder.write("notes.txt", "some notes")), "is neither a GGUF file nor"));
  CHECK(contains(message(folder.write("a.gguf", "some notes")), "does not start with 'GGUF'"));
  folder.write("b.gguf", "x");
  CHECK(contains(message(folder.path()), "holds 2 weight files, name one of them"));
}

TEST_CASE("ModelSource: a GGUF file is known by its content, whatever its name") {
  const TemporaryFolder folder;
  const auto path = folder.write("model.bin", read_file(kModels / "tiny-chat.gguf"));
  CHECK(ModelSource::open(path).gguf() != nullptr);
}

TEST_CASE("ModelSource: missing and misshapen tensors are listed together") {
  const CopiedModel model("tiny-qwen2");
  model.replace("config.json", R"("intermediate_size": 96)", R"("intermediate_size": 100)");
  const std::string message = model.message();
  CHECK(contains(message, "'model.layers.0.mlp.gate_proj.weight' has shape (96, 64), (100, 64) was expected"));
  CHECK(contains(message, "'model.layers.1.mlp.up_proj.weight'"));
  const CopiedModel longer("tiny-qwen2");
  longer.replace("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": 4)");
  CHECK(contains(longer.message(), "tensor 'model.layers.2.input_layernorm.weight' is missing"));
  CHECK(contains(longer.message(), "; and 16 more"));
}

TEST_CASE("ModelSource: a tensor that nobody would read is refused") {
  const CopiedModel model("tiny-qwen2");
  model.replace("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": 1)");
  CHECK(contains(model.message(), "tensor 'model.layers.1."));
  CHECK(contains(model.message(), "is not part of a qwen2 model as it is supported"));
}

TEST_CASE("ModelSource: a directory without its config, or with a broken one, is refused") {
  const CopiedModel model("tiny-qwen3");
  model.replace("config.json", "{", "[");
  CHECK(contains(model.message(), "config.json: is not valid JSON"));
  model.remove("config.json");
  CHECK(contains(model.message(), "config.json: cannot be read"));
}

TEST_CASE("ModelSource: end tokens come from both configs, and must be in the vocabulary") {
  const CopiedModel model("tiny-qwen2");
  CHECK(ModelSource::open(model.folder().path()).end_tokens() == std::vector<TokenId>{377, 379});
  CHECK_FALSE(ModelSource::open(model.folder().path()).begin_token().has_value());
  model.folder().write("generation_config.json", R"({"eos_token_id": [1, 384]})");
  CHECK(contains(model.message(), "key 'eos_token_id' is token 384, the vocabulary has 384"));
  model.remove("generation_config.json");
  CHECK(ModelSource::open(model.folder().path()).end_tokens() == std::vector<TokenId>{379});
}

TEST_CASE("ModelSource: chat templates from a file of their own, from a list, or none") {
  const CopiedModel model("tiny-qwen2");
  const auto chat_template = [&] { return ModelSource::open(model.folder().path()).chat_template(); };
  model.folder().write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}]})");
  CHECK(chat_template() == "d");
  model.folder().write("chat_template.jinja", "j");
  CHECK(chat_template() == "j");
  model.remove("chat_template.jinja");
  model.folder().write("tokenizer_config.json", "{}");
  CHECK_FALSE(chat_template().has_value());
  model.remove("tokenizer_config.json");
  CHECK_FALSE(chat_template().has_value());
}

TEST_CASE("ModelSource: copies share one mapping") {
  const ModelSource source = ModelSource::open(kModels / "tiny-chat.gguf");
  const ModelSource copy = source;
  CHECK(copy.matrix("model.embed_tokens.weight").data == source.matrix("model.embed_tokens.weight").data);
}

}  // namespace baton::test
