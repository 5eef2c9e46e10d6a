#include "model/files/model_source.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "model/files/dequantize.h"
#include "model/files/file_error.h"
#include "model/files/json_document.h"
#include "model/files/model_companions.h"
#include "runtime/check.h"
#include "runtime/errors.h"
#include "runtime/text_file.h"

namespace baton {

// A tensor of either format, checked. A vector has rows == 1.
struct ModelSource::State {
  ModelShape shape;
  std::filesystem::path path;
  std::filesystem::path directory;
  std::optional<GgufFile> gguf;
  std::optional<SafetensorsFile> safetensors;
  ModelCompanions companions;
  std::unordered_map<std::string, MatrixView> tensors;
  std::uint64_t parameters = 0;

  void find_tensors();
  void refuse_surplus() const;
  std::optional<MatrixView> locate(const RequiredTensor& wanted, std::string& problem) const;
  std::optional<MatrixView> locate_gguf(const RequiredTensor& wanted, std::string& problem) const;
  std::optional<MatrixView> locate_safetensors(const RequiredTensor& wanted, std::string& problem) const;
};

namespace {

constexpr std::size_t kConfigBytesMax = 16 << 20;
constexpr std::size_t kProblemsShown = 8;

// GGUF's converter reorders the rows of q and k of `llama` models; everything else is as in the checkpoint.
std::uint32_t interleaved_head_dim(const ModelShape& shape, std::string_view name) {
  const bool rotated =
      name.find(".q_proj.") != std::string_view::npos || name.find(".k_proj.") != std::string_view::npos;
  return rotated && shape.architecture == Architecture::llama ? shape.head_dim : 0;
}

std::string wanted_text(const RequiredTensor& wanted) {
  return wanted.rows == 0 ? fmt::format("({})", wanted.cols) : fmt::format("({}, {})", wanted.rows, wanted.cols);
}

// Throws one error for all problems, the first few of them in words.
void fail_problems(const std::string& origin, const std::vector<std::string>& problems) {
  if (problems.empty()) {
    return;
  }
  const std::size_t shown = std::min(problems.size(), kProblemsShown);
  std::string text =
      fmt::format("{}", fmt::join(problems.begin(), problems.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (problems.size() > shown) {
    text += fmt::format("; and {} more", problems.size() - shown);
  }
  fail_file(origin, text);
}

// The one weight file of a directory: index, model.safetensors, or the only .safetensors or .gguf there is.
std::filesystem::path weight_file_in(const std::filesystem::path& directory) {
  std::error_code error;
  for (const char* const name : {"model.safetensors.index.json", "model.safetensors"}) {
    if (std::filesystem::exists(directory / name, error)) {
      return directory / name;
    }
  }
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    const bool later_part = name.find("-of-") != std::string::npos && name.find("-00001-of-") == std::string::npos;
    if ((name.ends_with(".gguf") && !later_part) || name.ends_with(".safetensors")) {
      found.push_back(entry.path());
    }
  }
  if (error) {
    fail_file(directory.string(), fmt::format("cannot be listed: {}", error.message()));
  }
  if (found.empty()) {
    throw Error(Errc::not_found, fmt::format("{}: holds no .gguf or .safetensors file", directory.string()));
  }
  if (found.size() > 1) {
    fail_file(directory.string(), fmt::format("holds {} weight files, name one of them", found.size()));
  }
  return found.front();
}

bool is_gguf(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return path.extension() == ".gguf" ||
         (bytes.size() >= 4 && std::string_view(reinterpret_cast<const char*>(bytes.data()), 4) == "GGUF");
}

}  // namespace

void MatrixView::copy_row(std::uint64_t r, std::span<float> out) const {
  BATON_CHECK(r < rows && out.size() == cols, r, rows, out.size(), cols);
  dequantize_row(type, row(r), cols, out.data());
}

ModelSource ModelSource::open(const std::filesystem::path& path) {
  std::error_code ignored;
  auto state = std::make_shared<State>();
  state->path = std::filesystem::is_directory(path, ignored) ? weight_file_in(path) : path;
  state->directory = state->path.has_parent_path() ? state->path.parent_path() : std::filesystem::path(".");
  const std::string name = state->path.filename().string();
  if (name.ends_with(".index.json")) {
    state->safetensors = SafetensorsFile::open_index(state->path);
  } else if (is_gguf(state->path)) {
    state->gguf = GgufFile::open(state->path);
    state->shape = shape_from_gguf(*state->gguf);
    state->companions = companions_of_gguf(*state->gguf, state->shape);
  } else if (name.ends_with(".safetensors")) {
    state->safetensors = SafetensorsFile::open(state->path);
  } else {
    fail_file(state->path.string(), "is neither a GGUF file nor named .safetensors or .safetensors.index.json");
  }
  if (state->safetensors) {
    const std::filesystem::path config = state->directory / "config.json";
    state->shape = shape_from_config(read_text_file(config, kConfigBytesMax), config.string());
    if (state->shape.name.empty()) {
      state->shape.name = std::filesystem::absolute(state->directory).lexically_normal().filename().string();
    }
    state->companions = companions_of_directory(state->directory, state->shape);
  }
  state->find_tensors();
  state->refuse_surplus();
  return ModelSource(std::move(state));
}

void ModelSource::State::find_tensors() {
  std::vector<std::string> problems;
  for (const RequiredTensor& wanted : required_tensors(shape)) {
    std::string problem;
    const auto view = locate(wanted, problem);
    if (!view) {
      problems.push_back(problem);
      continue;
    }
    parameters += view->rows * view->cols;
    tensors.emplace(wanted.name, *view);
  }
  fail_problems(path.string(), problems);
  if (shape.tie_embeddings) {
    tensors.emplace("lm_head.weight", tensors.at("model.embed_tokens.weight"));
  }
}

std::optional<MatrixView> ModelSource::State::locate(const RequiredTensor& wanted, std::string& problem) const {
  auto view = gguf ? locate_gguf(wanted, problem) : locate_safetensors(wanted, problem);
  if (view && view->cols % block_elements(view->type) != 0) {
    problem =
        fmt::format("tensor '{}' has rows that are no whole number of {} blocks", wanted.name, to_string(view->type));
    return std::nullopt;
  }
  return view;
}

std::optional<MatrixView> ModelSource::State::locate_gguf(const RequiredTensor& wanted, std::string& problem) const {
  const std::string name = gguf_tensor_name(wanted.name);
  const GgufTensor* const tensor = gguf->find_tensor(name);
  if (tensor == nullptr) {
    problem = fmt::format("tensor '{}' is missing", name);
    return std::nullopt;
  }
  const std::uint64_t rows = std::max<std::uint64_t>(wanted.rows, 1);
  if (tensor->dims != std::array<std::uint64_t, 4>{wanted.cols, rows, 1, 1}) {
    problem = fmt::format("tensor '{}' has dimensions ({}, {}, {}, {}), ({}, {}) were expected", name, tensor->dims[0],
                          tensor->dims[1], tensor->dims[2], tensor->dims[3], wanted.cols, rows);
    return std::nullopt;
  }
  return MatrixView{tensor->type,
                    rows,
                    wanted.cols,
                    tensor->data.data(),
                    row_bytes(tensor->type, wanted.cols),
                    interleaved_head_dim(shape, wanted.name)};
}

std::optional<MatrixView> ModelSource::State::locate_safetensors(const RequiredTensor& wanted,
                                                                 std::string& problem) const {
  const SafetensorsTensor* const tensor = safetensors->find_tensor(wanted.name);
  if (tensor == nullptr) {
    problem = fmt::format("tensor '{}' is missing", wanted.name);
    return std::nullopt;
  }
  if (!tensor->type) {
    problem = fmt::format("tensor '{}' has dtype {}; F32, F16 and BF16 are supported", wanted.name, tensor->dtype);
    return std::nullopt;
  }
  std::vector<std::uint64_t> shape_wanted{wanted.cols};
  if (wanted.rows != 0) {
    shape_wanted.insert(shape_wanted.begin(), wanted.rows);
  }
  if (tensor->shape != shape_wanted) {
    problem = fmt::format("tensor '{}' has shape ({}), {} was expected", wanted.name, fmt::join(tensor->shape, ", "),
                          wanted_text(wanted));
    return std::nullopt;
  }
  return MatrixView{*tensor->type,       std::max<std::uint64_t>(wanted.rows, 1), wanted.cols,
                    tensor->data.data(), row_bytes(*tensor->type, wanted.cols),   0};
}

// A tensor that nobody reads means that the model computes something that baton does not: refuse rather than answer
// wrongly. Known to be harmless: stored RoPE tables, and a copy of a tied head.
void ModelSource::State::refuse_surplus() const {
  std::unordered_set<std::string> known;
  for (const RequiredTensor& wanted : required_tensors(shape)) {
    known.insert(gguf ? gguf_tensor_name(wanted.name) : wanted.name);
  }
  known.insert(gguf ? "rope_freqs.weight" : "lm_head.weight");
  std::vector<std::string> problems;
  const auto look_at = [&](std::string_view name) {
    if (!known.contains(std::string(name)) && !name.ends_with(".rotary_emb.inv_freq")) {
      problems.push_back(fmt::format("tensor {} is not part of a {} model as it is supported", in_quotes(name),
                                     to_string(shape.architecture)));
    }
  };
  if (gguf) {
    for (const GgufTensor& tensor : gguf->tensors()) {
      look_at(tensor.name);
    }
  } else {
    for (const SafetensorsTensor& tensor : safetensors->tensors()) {
      look_at(tensor.name);
    }
  }
  fail_problems(path.string(), problems);
}

const ModelShape& ModelSource::shape() const noexcept {
  return state_->shape;
}
const std::filesystem::path& ModelSource::path() const noexcept {
  return state_->path;
}
const std::filesystem::path& ModelSource::directory() const noexcept {
  return state_->directory;
}

std::uint64_t ModelSource::file_bytes() const noexcept {
  return state_->gguf ? state_->gguf->file_bytes() : state_->safetensors->file_bytes();
}

MatrixView ModelSource::matrix(std::string_view name) const {
  const auto found = state_->tensors.find(std::string(name));
  BATON_CHECK(found != state_->tensors.end(), name);
  return found->second;
}

std::vector<float> ModelSource::vector(std::string_view name) const {
  const MatrixView stored = matrix(name);
  BATON_CHECK(stored.rows == 1, name, stored.rows);
  std::vector<float> values(stored.cols);
  dequantize_row(stored.type, stored.data, stored.cols, values.data());
  if (stored.interleaved_head_dim == 0) {
    return values;
  }
  std::vector<float> ordered(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {  // a bias is permuted like the rows it is added to
    ordered[i] = values[stored.source_row(i)];
  }
  return ordered;
}

const GgufFile* ModelSource::gguf() const noexcept {
  return state_->gguf ? &*state_->gguf : nullptr;
}

const SafetensorsFile* ModelSource::safetensors() const noexcept {
  return state_->safetensors ? &*state_->safetensors : nullptr;
}

std::optional<std::string> ModelSource::chat_template() const {
  return state_->companions.chat_template;
}
std::vector<TokenId> ModelSource::end_tokens() const {
  return state_->companions.end_tokens;
}
std::optional<TokenId> ModelSource::begin_token() const {
  return state_->companions.begin_token;
}
std::uint64_t ModelSource::parameter_count() const noexcept {
  return state_->parameters;
}

}  // namespace baton
