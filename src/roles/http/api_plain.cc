// The endpoints that answer at once.
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "roles/http/api.h"
#include "roles/http/json_writer.h"
#include "roles/http/logprobs.h"
#include "runtime/metrics.h"

namespace baton {
namespace {

constexpr const char* kVersion = "0.1.0";

void append_model_card(JsonWriter& json, const ServedModel& model, std::uint32_t max_context) {
  json.begin_object();
  json.key("id").string(model.name);
  json.key("object").string("model");
  json.key("created").number(model.created);
  json.key("owned_by").string("baton");
  json.key("root").string(model.name);
  json.key("parent").null();
  json.key("max_model_len").number(max_context);
  json.key("permission").begin_array().end_array();
  json.end_object();
}

}  // namespace

Task<unsigned> Api::models(Exchange& exchange) {
  constexpr std::string_view kPrefix = "/v1/models/";
  const std::string_view path = exchange.request().path;
  std::string body;
  JsonWriter json(body);
  if (path.starts_with(kPrefix)) {
    const std::string_view name = path.substr(kPrefix.size());
    if (name != host_.model.name) {
      co_return refuse(exchange, ApiError(404, fmt::format("the model `{}` does not exist", name), "model"));
    }
    append_model_card(json, host_.model, max_context());
  } else {
    json.begin_object().key("object").string("list").key("data").begin_array();
    append_model_card(json, host_.model, max_context());
    json.end_array().end_object();
  }
  co_return respond(exchange, HttpResponse(200, std::move(body)));
}

Task<unsigned> Api::health(Exchange& exchange) {
  if (const auto error = unavailable()) {
    co_return refuse(exchange, *error);
  }
  co_return respond(exchange, HttpResponse(200, R"({"status":"usable"})"));
}

Task<unsigned> Api::metrics(Exchange& exchange) {
  HttpResponse response(200, host_.registry.prometheus_text());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  co_return respond(exchange, std::move(response));
}

Task<unsigned> Api::version(Exchange& exchange) {
  co_return respond(exchange, HttpResponse(200, fmt::format(R"({{"version":"{}"}})", kVersion)));
}

Task<unsigned> Api::ping(Exchange& exchange) {
  co_return respond(exchange, HttpResponse(200, ""));
}

Task<unsigned> Api::tokenize(Exchange& exchange) {
  const auto request = parse_tokenize_request(exchange.request().body, limits_);
  if (!request) {
    co_return refuse(exchange, request.error());
  }
  std::vector<TokenId> ids;
  if (const auto* text = std::get_if<std::string>(&request->input)) {
    ids = encode_text(*text, request->add_special_tokens);
  } else {
    auto encoded =
        encode_chat(std::get<std::vector<ChatMessage>>(request->input), request->chat, request->add_special_tokens);
    if (!encoded) {
      co_return refuse(exchange, encoded.error());
    }
    ids = std::move(*encoded);
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.key("count").number(ids.size());
  json.key("max_model_len").number(max_context());
  json.key("tokens").begin_array();
  for (const TokenId id : ids) {
    json.number(id);
  }
  json.end_array().key("token_strs");
  if (request->return_token_strs) {
    json.begin_array();
    for (const TokenId id : ids) {
      json.string(token_text(host_.model.tokenizer, id));
    }
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
  co_return respond(exchange, HttpResponse(200, std::move(body)));
}

Task<unsigned> Api::detokenize(Exchange& exchange) {
  const auto ids = parse_detokenize_request(exchange.request().body, limits_);
  if (!ids) {
    co_return refuse(exchange, ids.error());
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("prompt").string(host_.model.tokenizer.decode(*ids, false)).end_object();
  co_return respond(exchange, HttpResponse(200, std::move(body)));
}

std::vector<TokenId> Api::encode_text(const std::string& text, bool add_special) const {
  // The client wrote all of the prompt, so control tokens in it are its own, as in every other server of this API.
  // Chat messages are different: there a template speaks around the client's words.
  EncodeOptions options;
  options.add_special = add_special;
  options.parse_special = true;
  return host_.model.tokenizer.encode(text, options);
}

Parsed<std::vector<TokenId>> Api::encode_chat(const std::vector<ChatMessage>& messages, const ChatOptions& options,
                                              bool add_special) const {
  if (!host_.model.chat_template) {
    return ApiError(400, fmt::format("the model `{}` has no chat template, use /v1/completions", host_.model.name));
  }
  try {
    const std::vector<TextSegment> segments = host_.model.chat_template->render(messages, options);
    return host_.model.tokenizer.encode(segments, add_special);
  } catch (const Error& error) {
    if (error.errc() != Errc::invalid_argument) {
      throw;
    }
    return ApiError(400, error.what(), "messages");
  }
}

}  // namespace baton
