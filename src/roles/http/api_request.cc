#include "roles/http/api_request.h"

#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "roles/http/json_fields.h"
#include "roles/http/request_fields.h"

namespace baton {

namespace json = boost::json;

namespace {

constexpr std::uint32_t kTokensMax = std::numeric_limits<std::int32_t>::max();

bool is_empty_prompt(const PromptInput& prompt) {
  const auto* ids = std::get_if<std::vector<TokenId>>(&prompt);
  return ids != nullptr && ids->empty();
}

// One member of a batch: a string or a list of ids.
std::optional<PromptInput> prompt_member(const json::value& value, std::size_t vocab_size) {
  if (value.is_string()) {
    return PromptInput(std::string(value.get_string()));
  }
  if (value.is_array()) {
    if (auto ids = token_ids(value.get_array(), vocab_size)) {
      return PromptInput(std::move(*ids));
    }
  }
  return std::nullopt;
}

// A string, a list of strings, a list of ids, or a list of lists of ids.
void read_prompts(JsonFields& fields, const ApiLimits& limits, std::vector<PromptInput>& prompts) {
  const json::value* value = fields.find("prompt");
  if (value == nullptr || (value->is_array() && value->get_array().empty())) {
    return fields.refuse("prompt", "be a string, a list of strings, a list of token ids or a list of such lists");
  }
  const bool single = value->is_string() || (value->is_array() && value->get_array().front().is_number());
  if (single) {
    auto prompt = prompt_member(*value, limits.vocab_size);
    if (!prompt) {
      return fields.refuse("prompt", fmt::format("hold token ids from 0 to {} only", limits.vocab_size - 1));
    }
    prompts.push_back(std::move(*prompt));
    return;
  }
  if (!value->is_array() || value->get_array().size() > limits.samples_max) {
    return fields.refuse("prompt", fmt::format("be a string or a list of at most {} prompts", limits.samples_max));
  }
  for (const json::value& member : value->get_array()) {
    auto prompt = prompt_member(member, limits.vocab_size);
    if (!prompt || is_empty_prompt(*prompt)) {
      return fields.refuse("prompt",
                           fmt::format("hold strings or lists of token ids from 0 to {} only", limits.vocab_size - 1));
    }
    prompts.push_back(std::move(*prompt));
  }
}

void read_max_tokens(JsonFields& fields, const char* name, RequestOptions& options) {
  if (fields.find(name) == nullptr) {
    return;
  }
  std::uint32_t tokens = 0;
  fields.integer<std::uint32_t>(name, 1, kTokensMax, tokens);
  options.max_tokens = tokens;
}

void read_completion_extras(JsonFields& fields, CompletionRequest& request) {
  RequestOptions& options = request.options;
  if (fields.find("logprobs") != nullptr) {
    fields.integer<std::uint32_t>("logprobs", 0, kApiTopLogprobsMax, options.sampling.top_logprobs);
    options.sampling.logprobs = true;
  }
  fields.boolean("echo", request.echo);
  if (request.echo && options.sampling.logprobs) {
    fields.fail("echo",
                "echo together with logprobs is not supported: log-probabilities of the prompt are not computed");
  }
  std::string suffix;
  fields.string("suffix", suffix);
  if (!suffix.empty()) {
    fields.fail("suffix", "suffix is not supported: the model only continues text");
  }
  std::uint32_t best_of = options.n;
  fields.integer<std::uint32_t>("best_of", 0, kTokensMax, best_of);
  if (best_of != options.n && best_of != 1) {
    fields.refuse("best_of", fmt::format("be 1 or equal to n ({})", options.n));
  }
  fields.boolean("add_special_tokens", request.add_special_tokens);
}

void read_chat_logprobs(JsonFields& fields, RequestOptions& options) {
  fields.boolean("logprobs", options.sampling.logprobs);
  fields.integer<std::uint32_t>("top_logprobs", 0, kApiTopLogprobsMax, options.sampling.top_logprobs);
  if (options.sampling.top_logprobs > 0 && !options.sampling.logprobs) {
    fields.fail("top_logprobs", "top_logprobs needs logprobs to be true");
  }
}

void refuse_tools(JsonFields& fields) {
  const json::value* choice = fields.find("tool_choice");
  const bool none = choice != nullptr && choice->is_string() && choice->get_string() == "none";
  for (const char* name : {"tools", "functions"}) {
    const json::value* tools = fields.find(name);
    const bool empty = tools == nullptr || (tools->is_array() && tools->get_array().empty());
    if (!empty && !none) {
      fields.fail(name, fmt::format("{} are not supported; with tool_choice \"none\" they are ignored", name));
    }
  }
}

}  // namespace

Parsed<CompletionRequest> parse_completion_request(std::string_view body, const ApiLimits& limits) {
  auto object = parse_json_object(body);
  if (!object) {
    return object.error();
  }
  CompletionRequest request;
  JsonFields fields(*object);
  check_model(fields, limits);
  read_prompts(fields, limits, request.prompts);
  read_options(fields, limits, request.options);
  read_max_tokens(fields, "max_tokens", request.options);
  read_completion_extras(fields, request);
  if (request.prompts.size() * request.options.n > limits.samples_max) {
    fields.fail("n", fmt::format("{} prompts times n = {} are more than the {} choices a request may have",
                                 request.prompts.size(), request.options.n, limits.samples_max));
  }
  request.options.max_tokens = request.options.max_tokens.value_or(16);  // the API's default
  check_options(fields, limits, request.options);
  if (fields.failed()) {
    return fields.error();
  }
  return request;
}

Parsed<ChatRequest> parse_chat_request(std::string_view body, const ApiLimits& limits) {
  auto object = parse_json_object(body);
  if (!object) {
    return object.error();
  }
  ChatRequest request;
  JsonFields fields(*object);
  check_model(fields, limits);
  read_messages(fields, request.messages);
  read_options(fields, limits, request.options);
  read_max_tokens(fields, "max_tokens", request.options);
  read_max_tokens(fields, "max_completion_tokens", request.options);  // read last: the newer name wins
  read_chat_logprobs(fields, request.options);
  refuse_tools(fields);
  read_chat_options(fields, request.chat);
  fields.boolean("add_special_tokens", request.add_special_tokens);
  check_options(fields, limits, request.options);
  if (fields.failed()) {
    return fields.error();
  }
  return request;
}

Parsed<TokenizeRequest> parse_tokenize_request(std::string_view body, const ApiLimits& limits) {
  auto object = parse_json_object(body);
  if (!object) {
    return object.error();
  }
  TokenizeRequest request;
  JsonFields fields(*object);
  check_model(fields, limits);
  if (fields.find("messages") != nullptr) {
    std::vector<ChatMessage> messages;
    read_messages(fields, messages);
    request.input = std::move(messages);
    request.add_special_tokens = false;
    read_chat_options(fields, request.chat);
  } else {
    std::string prompt;
    if (fields.find("prompt") == nullptr) {
      fields.refuse("prompt", "be a string (or send messages)");
    }
    fields.string("prompt", prompt);
    request.input = std::move(prompt);
  }
  fields.boolean("add_special_tokens", request.add_special_tokens);
  fields.boolean("return_token_strs", request.return_token_strs);
  if (fields.failed()) {
    return fields.error();
  }
  return request;
}

Parsed<std::vector<TokenId>> parse_detokenize_request(std::string_view body, const ApiLimits& limits) {
  auto object = parse_json_object(body);
  if (!object) {
    return object.error();
  }
  std::vector<TokenId> ids;
  JsonFields fields(*object);
  check_model(fields, limits);
  if (fields.find("tokens") == nullptr) {
    fields.refuse("tokens", "be a list of token ids");
  }
  fields.ids("tokens", std::numeric_limits<std::uint32_t>::max(), limits.vocab_size, ids);
  if (fields.failed()) {
    return fields.error();
  }
  return ids;
}

}  // namespace baton
