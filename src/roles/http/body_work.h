// From a request's body to what its endpoint goes on with: JSON, chat templates, tokens. Pure; any thread.
//
// This is all of a request's work that grows with its body, so that a big one can be done elsewhere than on the
// server's thread (BodyWorker).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "roles/http/api_error.h"
#include "roles/http/api_request.h"
#include "roles/http/served_model.h"
#include "runtime/ids.h"

namespace baton {

struct PreparedPrompt {
  std::vector<TokenId> ids;      // not empty, and within the context together with max_tokens
  std::string echo;              // text to put before the output; empty unless the request asked for it
  std::uint32_t max_tokens = 0;  // to generate
};

struct PreparedRequest {
  RequestOptions options;
  std::vector<PreparedPrompt> prompts;  // at least one
};

// What an endpoint does with a body. The result refers to none of the arguments.
template <class T>
using BodyStep = Parsed<T> (*)(std::string_view body, const ServedModel& model, const ApiLimits& limits);

Parsed<PreparedRequest> prepare_completion(std::string_view body, const ServedModel& model, const ApiLimits& limits);
// 400 also where the model has no chat template, or the template refuses the messages.
Parsed<PreparedRequest> prepare_chat(std::string_view body, const ServedModel& model, const ApiLimits& limits);

// The answers of /tokenize and /detokenize, as JSON.
Parsed<std::string> tokenized(std::string_view body, const ServedModel& model, const ApiLimits& limits);
Parsed<std::string> detokenized(std::string_view body, const ServedModel& model, const ApiLimits& limits);

// The ids of a text that is all a client's own: control tokens are recognised in it.
std::vector<TokenId> encode_text(std::string_view text, const Tokenizer& tokenizer, bool add_special);

}  // namespace baton
