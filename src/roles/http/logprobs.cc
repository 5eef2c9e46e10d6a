#include "roles/http/logprobs.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/text/utf8.h"
#include "roles/http/json_writer.h"

namespace baton {
namespace {

// JSON has no minus infinity; vLLM's answers say -9999 for it and clients have learned that.
constexpr float kLeastLogprob = -9999.0F;

// Rows of logits beyond the vocabulary are padding and stand for nothing.
std::string_view bytes_of(const Tokenizer& tokenizer, TokenId id) {
  return id >= 0 && static_cast<std::size_t>(id) < tokenizer.vocab_size() ? tokenizer.token_bytes(id)
                                                                          : std::string_view();
}

float shown(float logprob) noexcept {
  return std::max(logprob, kLeastLogprob);
}

void append_alternatives(JsonWriter& json, const Tokenizer& tokenizer, const SampledToken& token) {
  std::vector<std::string> names;  // several tokens may read the same; the likeliest keeps the name
  const auto add = [&](TokenId id, float logprob) {
    std::string name = token_text(tokenizer, id);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      json.key(name).number(shown(logprob));
      names.push_back(std::move(name));
    }
  };
  json.begin_object();
  for (const TokenLogprob& alternative : token.top) {
    add(alternative.id, alternative.logprob);
  }
  add(token.id, token.logprob);
  json.end_object();
}

void append_chat_token(JsonWriter& json, const Tokenizer& tokenizer, TokenId id, float logprob) {
  json.key("token").string(token_text(tokenizer, id));
  json.key("logprob").number(shown(logprob));
  json.key("bytes").begin_array();
  for (const char byte : bytes_of(tokenizer, id)) {
    json.number(static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  json.end_array();
}

}  // namespace

std::string token_text(const Tokenizer& tokenizer, TokenId id) {
  return repaired_utf8(bytes_of(tokenizer, id));
}

std::size_t count_characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_completion_logprobs(JsonWriter& json, const Tokenizer& tokenizer, std::span<const SampledToken> tokens,
                                std::size_t text_offset) {
  json.begin_object();
  json.key("text_offset").begin_array();
  for (const SampledToken& token : tokens) {
    json.number(text_offset);
    text_offset += count_characters(token_text(tokenizer, token.id));
  }
  json.end_array().key("token_logprobs").begin_array();
  for (const SampledToken& token : tokens) {
    json.number(shown(token.logprob));
  }
  json.end_array().key("tokens").begin_array();
  for (const SampledToken& token : tokens) {
    json.string(token_text(tokenizer, token.id));
  }
  json.end_array().key("top_logprobs").begin_array();
  for (const SampledToken& token : tokens) {
    append_alternatives(json, tokenizer, token);
  }
  json.end_array().end_object();
}

void append_chat_logprobs(JsonWriter& json, const Tokenizer& tokenizer, std::span<const SampledToken> tokens) {
  json.begin_object().key("content").begin_array();
  for (const SampledToken& token : tokens) {
    json.begin_object();
    append_chat_token(json, tokenizer, token.id, token.logprob);
    json.key("top_logprobs").begin_array();
    for (const TokenLogprob& alternative : token.top) {
      json.begin_object();
      append_chat_token(json, tokenizer, alternative.id, alternative.logprob);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

}  // namespace baton
