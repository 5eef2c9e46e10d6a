// The bodies of the OpenAI-compatible API as typed requests: JSON text in, checked values out, no I/O.
//
// What is read: the fields of the structs below, under their API names. Other fields are ignored, as clients expect,
// except those that would change the meaning of the answer and are not supported. These are refused with 400:
// suffix, echo together with logprobs, best_of other than 1 or n, response_format other than text, guided decoding
// (structured_outputs, guided_json, guided_regex, guided_choice, guided_grammar), prompt_logprobs, bad_words, beam
// search, tools unless tool_choice is "none", and message parts other than text. Numbers out of range, of another
// type, or not finite are refused with the field and the value. A wrong model name is 404.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/text/chat_template.h"
#include "model/text/sampling.h"
#include "roles/generation.h"
#include "roles/http/api_error.h"
#include "runtime/ids.h"

namespace baton {

// What a request is checked against.
struct ApiLimits {
  std::string model;                // the name served
  std::size_t vocab_size = 0;       // ids are below
  std::uint32_t samples_max = 128;  // n, and prompts times n
  std::uint32_t max_context = 0;    // tokens of a prompt and its output together
};

inline constexpr std::uint32_t kApiTopLogprobsMax = 20;  // OpenAI's bound for chat
inline constexpr std::size_t kStopStringsMax = 64;

// The fields both endpoints have.
struct RequestOptions {
  std::uint32_t n = 1;
  SamplingParams sampling;
  std::optional<std::uint64_t> seed;        // absent: drawn by the front end
  StopConditions stop;                      // max_tokens is in the next field
  std::optional<std::uint32_t> max_tokens;  // absent: 16 for completions, what fits for chat
  bool stream = false;
  bool include_usage = false;                          // stream_options: one more chunk with the usage
  bool continuous_usage_stats = false;                 // stream_options: usage in every chunk
  std::optional<std::int32_t> truncate_prompt_tokens;  // keep the last so many; -1: what fits
  std::string cache_salt;  // requests with different ones share no cached prefix; empty: none
  bool return_token_ids = false;
  bool return_timeline = false;  // baton's own: how the request travelled, see append_timeline
};

// One prompt: text of the client's, or ids.
using PromptInput = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  RequestOptions options;
  std::vector<PromptInput> prompts;  // at least one, none empty as a list of ids
  bool echo = false;                 // put the prompt before the text
  bool add_special_tokens = true;
};

struct ChatRequest {
  RequestOptions options;
  std::vector<ChatMessage> messages;  // at least one
  ChatOptions chat;                   // chat_template_kwargs.enable_thinking is honoured, its other members are not
  bool add_special_tokens = false;
};

Parsed<CompletionRequest> parse_completion_request(std::string_view body, const ApiLimits& limits);
Parsed<ChatRequest> parse_chat_request(std::string_view body, const ApiLimits& limits);

// POST /tokenize: text, or messages through the chat template.
struct TokenizeRequest {
  std::variant<std::string, std::vector<ChatMessage>> input;
  ChatOptions chat;
  bool add_special_tokens = true;  // false by default for messages
  bool return_token_strs = false;
};

Parsed<TokenizeRequest> parse_tokenize_request(std::string_view body, const ApiLimits& limits);
// POST /detokenize: the ids.
Parsed<std::vector<TokenId>> parse_detokenize_request(std::string_view body, const ApiLimits& limits);

}  // namespace baton
