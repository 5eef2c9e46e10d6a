#include "model/files/model_companions.h"

#include <algorithm>
#include <array>
#include <system_error>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "model/files/file_error.h"
#include "model/files/json_document.h"
#include "runtime/text_file.h"

namespace baton {
namespace {

constexpr std::size_t kCompanionBytesMax = 64 << 20;

constexpr std::array<std::string_view, 6> kEndTexts = {"<|im_end|>",      "<|endoftext|>", "<|eot_id|>",
                                                       "<|end_of_text|>", "<|eom_id|>",    "<|end|>"};

// A file that cannot be looked at counts as present, so that opening it says why.
bool is_present(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error;
}

TokenId checked_token(std::uint64_t id, const ModelShape& shape, std::string_view key, const std::string& origin) {
  if (id >= shape.vocab) {
    fail_file(origin, fmt::format("key {} is token {}, the vocabulary has {}", in_quotes(key), id, shape.vocab));
  }
  return static_cast<TokenId>(id);
}

void sort_unique(std::vector<TokenId>& tokens) {
  std::ranges::sort(tokens);
  const auto repeated = std::ranges::unique(tokens);
  tokens.erase(repeated.begin(), repeated.end());
}

// An id or a list of ids, as eos_token_id may be.
std::vector<TokenId> token_list(const JsonObject& config, std::string_view key, const ModelShape& shape) {
  const boost::json::value* const value = config.find(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_array()) {
    return {checked_token(config.get_u64(key), shape, key, config.origin())};
  }
  std::vector<TokenId> result;
  for (const boost::json::value& element : value->get_array()) {
    const auto id = json_u64(element);
    if (!id) {
      fail_file(config.origin(), fmt::format("key {} has an element that is no token id", in_quotes(key)));
    }
    result.push_back(checked_token(*id, shape, key, config.origin()));
  }
  return result;
}

// tokenizer_config.json: a string, or a list of {name, template} of which "default" is meant.
std::optional<std::string> template_of(const JsonObject& config) {
  const boost::json::value* const value = config.find("chat_template");
  if (value == nullptr || !value->is_array()) {
    const auto text = config.find_string("chat_template");
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  for (const boost::json::value& element : value->get_array()) {
    const JsonObject entry = JsonObject::root(element, config.origin());
    if (entry.find_string("name").value_or("") == "default") {
      const auto text = entry.find_string("template");
      return text ? std::optional<std::string>(*text) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::string> template_in(const std::filesystem::path& directory) {
  const std::filesystem::path jinja = directory / "chat_template.jinja";
  if (is_present(jinja)) {
    return read_text_file(jinja, kCompanionBytesMax);
  }
  const std::filesystem::path config = directory / "tokenizer_config.json";
  if (!is_present(config)) {
    return std::nullopt;
  }
  const auto document = parse_json(read_text_file(config, kCompanionBytesMax), config.string());
  return template_of(JsonObject::root(document, config.string()));
}

}  // namespace

ModelCompanions companions_of_gguf(const GgufFile& file, const ModelShape& shape) {
  ModelCompanions result;
  if (const auto text = file.find_string("tokenizer.chat_template")) {
    result.chat_template = std::string(*text);
  }
  constexpr std::string_view kBegin = "tokenizer.ggml.bos_token_id";
  if (const auto id = file.find_u64(kBegin)) {
    result.begin_token = checked_token(*id, shape, kBegin, file.name());
  }
  for (const std::string_view key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (const auto id = file.find_u64(key)) {
      result.end_tokens.push_back(checked_token(*id, shape, key, file.name()));
    }
  }
  const auto tokens = file.find_strings("tokenizer.ggml.tokens").value_or(std::vector<std::string_view>{});
  if (tokens.size() > shape.vocab) {
    fail_file(file.name(), fmt::format("has {} tokens, but an embedding of {} rows", tokens.size(), shape.vocab));
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (std::ranges::find(kEndTexts, tokens[id]) != kEndTexts.end()) {
      result.end_tokens.push_back(static_cast<TokenId>(id));
    }
  }
  sort_unique(result.end_tokens);
  return result;
}

ModelCompanions companions_of_directory(const std::filesystem::path& directory, const ModelShape& shape) {
  ModelCompanions result;
  for (const char* const name : {"config.json", "generation_config.json"}) {
    const std::filesystem::path path = directory / name;
    if (!is_present(path)) {
      continue;
    }
    const auto document = parse_json(read_text_file(path, kCompanionBytesMax), path.string());
    const JsonObject config = JsonObject::root(document, path.string());
    const auto ends = token_list(config, "eos_token_id", shape);
    result.end_tokens.insert(result.end_tokens.end(), ends.begin(), ends.end());
    if (const auto begins = token_list(config, "bos_token_id", shape); !begins.empty()) {
      result.begin_token = begins.front();
    }
  }
  sort_unique(result.end_tokens);
  result.chat_template = template_in(directory);
  return result;
}

}  // namespace baton
