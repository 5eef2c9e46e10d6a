// The endpoints that do not ask the model.
#include <utility>

#include <fmt/format.h>

#include "roles/http/api.h"
#include "roles/http/json_writer.h"
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
  auto answer = co_await work_on_body<std::string>(exchange, &tokenized);
  if (!answer) {
    co_return refuse(exchange, answer.error());
  }
  co_return respond(exchange, HttpResponse(200, std::move(*answer)));
}

Task<unsigned> Api::detokenize(Exchange& exchange) {
  auto answer = co_await work_on_body<std::string>(exchange, &detokenized);
  if (!answer) {
    co_return refuse(exchange, answer.error());
  }
  co_return respond(exchange, HttpResponse(200, std::move(*answer)));
}

}  // namespace baton
