#include "roles/http/body_work.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "roles/http/json_writer.h"
#include "roles/http/logprobs.h"
#include "roles/http/prompt_fit.h"

namespace baton {
namespace {

Parsed<std::vector<TokenId>> encode_chat(const std::vector<ChatMessage>& messages, const ChatOptions& options,
                                         const ServedModel& model, bool add_special) {
  if (!model.chat_template) {
    return ApiError(400, fmt::format("the model `{}` has no chat template, use /v1/completions", model.name));
  }
  try {
    const std::vector<TextSegment> segments = model.chat_template->render(messages, options);
    return model.tokenizer.encode(segments, add_special);
  } catch (const Error& error) {
    if (error.errc() != Errc::invalid_argument) {
      throw;
    }
    return ApiError(400, error.what(), "messages");
  }
}

PreparedPrompt prepare_prompt(PromptInput input, const CompletionRequest& request, const Tokenizer& tokenizer) {
  PreparedPrompt prompt;
  if (auto* text = std::get_if<std::string>(&input)) {
    prompt.ids = encode_text(*text, tokenizer, request.add_special_tokens);
    prompt.echo = request.echo ? std::move(*text) : std::string();
  } else {
    prompt.ids = std::move(std::get<std::vector<TokenId>>(input));
    prompt.echo = request.echo ? tokenizer.decode(prompt.ids) : std::string();
  }
  return prompt;
}

// The request with how many tokens each prompt may be followed by, or 400 for one that does not fit.
Parsed<PreparedRequest> fitted(PreparedRequest request, std::uint32_t max_context) {
  for (PreparedPrompt& prompt : request.prompts) {
    const auto max_tokens = fit_prompt(prompt.ids, request.options, max_context);
    if (!max_tokens) {
      return max_tokens.error();
    }
    prompt.max_tokens = *max_tokens;
  }
  return request;
}

}  // namespace

Parsed<PreparedRequest> prepare_completion(std::string_view body, const ServedModel& model, const ApiLimits& limits) {
  auto request = parse_completion_request(body, limits);
  if (!request) {
    return request.error();
  }
  PreparedRequest prepared;
  prepared.options = request->options;
  for (PromptInput& input : request->prompts) {
    prepared.prompts.push_back(prepare_prompt(std::move(input), *request, model.tokenizer));
  }
  return fitted(std::move(prepared), limits.max_context);
}

Parsed<PreparedRequest> prepare_chat(std::string_view body, const ServedModel& model, const ApiLimits& limits) {
  auto request = parse_chat_request(body, limits);
  if (!request) {
    return request.error();
  }
  auto ids = encode_chat(request->messages, request->chat, model, request->add_special_tokens);
  if (!ids) {
    return ids.error();
  }
  PreparedRequest prepared;
  prepared.options = std::move(request->options);
  prepared.prompts.emplace_back();
  prepared.prompts.back().ids = std::move(*ids);
  return fitted(std::move(prepared), limits.max_context);
}

Parsed<std::string> tokenized(std::string_view body, const ServedModel& model, const ApiLimits& limits) {
  const auto request = parse_tokenize_request(body, limits);
  if (!request) {
    return request.error();
  }
  std::vector<TokenId> ids;
  if (const auto* text = std::get_if<std::string>(&request->input)) {
    ids = encode_text(*text, model.tokenizer, request->add_special_tokens);
  } else {
    auto encoded = encode_chat(std::get<std::vector<ChatMessage>>(request->input), request->chat, model,
                               request->add_special_tokens);
    if (!encoded) {
      return encoded.error();
    }
    ids = std::move(*encoded);
  }
  std::string answer;
  JsonWriter json(answer);
  json.begin_object();
  json.key("count").number(ids.size());
  json.key("max_model_len").number(limits.max_context);
  json.key("tokens").begin_array();
  for (const TokenId id : ids) {
    json.number(id);
  }
  json.end_array().key("token_strs");
  if (request->return_token_strs) {
    json.begin_array();
    for (const TokenId id : ids) {
      json.string(token_text(model.tokenizer, id));
    }
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
  return answer;
}

Parsed<std::string> detokenized(std::string_view body, const ServedModel& model, const ApiLimits& limits) {
  const auto ids = parse_detokenize_request(body, limits);
  if (!ids) {
    return ids.error();
  }
  std::string answer;
  JsonWriter json(answer);
  json.begin_object().key("prompt").string(model.tokenizer.decode(*ids, false)).end_object();
  return answer;
}

std::vector<TokenId> encode_text(std::string_view text, const Tokenizer& tokenizer, bool add_special) {
  // The client wrote all of the prompt, so control tokens in it are its own, as in every other server of this API.
  // Chat messages are different: there a template speaks around the client's words.
  EncodeOptions options;
  options.add_special = add_special;
  options.parse_special = true;
  return tokenizer.encode(text, options);
}

}  // namespace baton
