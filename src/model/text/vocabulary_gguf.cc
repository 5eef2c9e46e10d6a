#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/files/gguf.h"
#include "model/text/pretokenizer.h"
#include "model/text/vocabulary.h"
#include "runtime/errors.h"

namespace baton {

namespace {

[[noreturn]] void refuse(const GgufFile& file, const std::string& what) {
  throw Error(Errc::bad_file, fmt::format("{}: {}", file.name(), what));
}

std::optional<TokenId> special_id(const GgufFile& file, std::string_view key, std::size_t tokens) {
  const auto id = file.find_u64(key);
  if (!id) {
    return std::nullopt;
  }
  if (*id >= tokens) {
    refuse(file, fmt::format("{} is {}, but there are {} tokens", key, *id, tokens));
  }
  return static_cast<TokenId>(*id);
}

std::vector<std::string> strings(const GgufFile& file, std::string_view key) {
  const auto views = file.get_strings(key);
  return {views.begin(), views.end()};
}

std::vector<TokenKind> token_kinds(const GgufFile& file, std::size_t tokens) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const auto numbers = file.find_i64s(kKey);
  if (!numbers) {
    return std::vector<TokenKind>(tokens, TokenKind::normal);
  }
  std::vector<TokenKind> kinds;
  kinds.reserve(numbers->size());
  for (const std::int64_t number : *numbers) {
    if (number < 1 || number > 6) {
      refuse(file, fmt::format("{} holds {}, known are 1 to 6", kKey, number));
    }
    kinds.push_back(static_cast<TokenKind>(number));
  }
  if (kinds.size() != tokens) {
    refuse(file, fmt::format("{} has {} entries for {} tokens", kKey, kinds.size(), tokens));
  }
  return kinds;
}

}  // namespace

Vocabulary vocabulary_from_gguf(const GgufFile& file) {
  const std::string_view model = file.get_string("tokenizer.ggml.model");
  if (model != "gpt2") {
    refuse(file,
           fmt::format("tokenizer.ggml.model is '{}'; only 'gpt2' (byte-level BPE) is supported", model.substr(0, 80)));
  }
  Vocabulary vocabulary;
  vocabulary.tokens = strings(file, "tokenizer.ggml.tokens");
  vocabulary.merges = strings(file, "tokenizer.ggml.merges");
  const std::size_t tokens = vocabulary.tokens.size();
  vocabulary.kinds = token_kinds(file, tokens);
  vocabulary.pre_tokenizer = file.find_string("tokenizer.ggml.pre").value_or("gpt-2");
  const bool llama3 = PreTokenizer::is_llama3(vocabulary.pre_tokenizer);
  vocabulary.ignore_merges = llama3;
  vocabulary.add_bos = file.find_bool("tokenizer.ggml.add_bos_token").value_or(llama3);
  vocabulary.add_eos = file.find_bool("tokenizer.ggml.add_eos_token").value_or(false);
  vocabulary.bos = special_id(file, "tokenizer.ggml.bos_token_id", tokens);
  vocabulary.eos = special_id(file, "tokenizer.ggml.eos_token_id", tokens);
  vocabulary.eot = special_id(file, "tokenizer.ggml.eot_token_id", tokens);
  vocabulary.unk = special_id(file, "tokenizer.ggml.unknown_token_id", tokens);
  vocabulary.pad = special_id(file, "tokenizer.ggml.padding_token_id", tokens);
  if (const auto end = special_id(file, "tokenizer.ggml.eom_token_id", tokens)) {
    vocabulary.end_of_generation.push_back(*end);
  }
  vocabulary.chat_template = file.find_string("tokenizer.chat_template").value_or("");
  return vocabulary;
}

}  // namespace baton
