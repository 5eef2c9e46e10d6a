// Log-probabilities in the two shapes of the OpenAI API.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model/text/sampling.h"
#include "model/text/tokenizer.h"

namespace baton {

class JsonWriter;

// What a token is called in answers: its bytes, with U+FFFD for what is no character by itself.
std::string token_text(const Tokenizer& tokenizer, TokenId id);

// {"text_offset","token_logprobs","tokens","top_logprobs":[{"token": logprob}]}: the alternatives always include the
// token itself, so there may be one more than was asked for. `text_offset` is that of the first token.
void append_completion_logprobs(JsonWriter& json, const Tokenizer& tokenizer, std::span<const SampledToken> tokens,
                                std::size_t text_offset);

// {"content":[{"token","logprob","bytes":[...],"top_logprobs":[{"token","logprob","bytes"}]}]}
void append_chat_logprobs(JsonWriter& json, const Tokenizer& tokenizer, std::span<const SampledToken> tokens);

// Code points in valid UTF-8.
std::size_t count_characters(std::string_view text) noexcept;

}  // namespace baton
