#include "roles/http/api.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "model/text/utf8.h"
#include "roles/http/body_worker.h"
#include "roles/http/http_head.h"
#include "roles/http/http_metrics.h"
#include "runtime/context.h"

namespace baton {
namespace {

constexpr std::string_view kModelsPrefix = "/v1/models/";

std::string allowed_methods(bool get, bool post) {
  std::string methods = get ? "GET, HEAD, " : "";
  methods += post ? "POST, " : "";
  return methods + "OPTIONS";
}

}  // namespace

Api::Api(const ApiHost& host) : host_(host), started_(host.context.now()) {}

const Api::Route* Api::find_route(std::string_view path) noexcept {
  static constexpr std::array kRoutes = {
      Route{"/v1/completions", false, true, &Api::completions},
      Route{"/v1/chat/completions", false, true, &Api::chat_completions},
      Route{"/v1/models", true, false, &Api::models},
      Route{"/health", true, false, &Api::health},
      Route{"/health_generate", true, false, &Api::health_generate},
      Route{"/metrics", true, false, &Api::metrics},
      Route{"/version", true, false, &Api::version},
      Route{"/ping", true, true, &Api::ping},
      Route{"/tokenize", false, true, &Api::tokenize},
      Route{"/v1/tokenize", false, true, &Api::tokenize},
      Route{"/detokenize", false, true, &Api::detokenize},
      Route{"/v1/detokenize", false, true, &Api::detokenize},
  };
  if (path.starts_with(kModelsPrefix)) {
    path = "/v1/models";
  }
  for (const Route& route : kRoutes) {
    if (route.path == path) {
      return &route;
    }
  }
  return nullptr;
}

Task<> Api::handle(Exchange& exchange) {
  const TimePoint start = host_.context.now();
  const Route* route = find_route(exchange.request().path);
  const std::string& method = exchange.request().method;
  unsigned status = 0;
  const bool served =
      route != nullptr && ((route->get && (method == "GET" || method == "HEAD")) || (route->post && method == "POST"));
  if (served) {
    status = co_await contained(exchange, *route);
  } else {
    status = answer_method(exchange, route);
  }
  const std::string_view label = route != nullptr ? route->path : std::string_view("other");
  host_.metrics.request_done(label, status, host_.context.now() - start);
}

// A fault of ours must end this request only, not the server.
Task<unsigned> Api::contained(Exchange& exchange, const Route& route) {
  std::string fault;
  try {
    const unsigned status = co_await (this->*route.endpoint)(exchange);
    co_return status;
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) {
      throw;
    }
    fault = error.what();
  } catch (const std::exception& error) {
    fault = error.what();
  }
  co_return fail_inside(exchange, fault);
}

unsigned Api::fail_inside(Exchange& exchange, const std::string& fault) {
  const ApiError error(500, repaired_utf8(fault));
  if (!exchange.answered()) {
    return refuse(exchange, error);
  }
  exchange.event(error_body(error));
  exchange.event("[DONE]");
  exchange.end_events(true);
  return error.status;
}

unsigned Api::respond(Exchange& exchange, HttpResponse response) {
  response.close = response.close || draining_;
  const unsigned status = response.status;
  exchange.respond(std::move(response));
  return status;
}

unsigned Api::refuse(Exchange& exchange, const ApiError& error) {
  HttpResponse response(error.status, error_body(error));
  if (error.status == 429) {
    response.retry_after = retry_after_seconds(host_.config.retry_after_overload);
  } else if (error.status == 503) {
    response.retry_after = retry_after_seconds(host_.config.retry_after_unavailable);
  }
  return respond(exchange, std::move(response));
}

// Requests that no endpoint serves: OPTIONS, wrong methods, unknown paths.
unsigned Api::answer_method(Exchange& exchange, const Route* route) {
  const HttpRequest& request = exchange.request();
  if (route == nullptr && request.path != "*") {
    return refuse(exchange, ApiError(404, fmt::format("there is no endpoint {} here", request.path)));
  }
  const bool options = request.method == "OPTIONS";
  HttpResponse response(204, "");
  if (!options) {
    response = HttpResponse(
        405,
        error_body(ApiError(405, fmt::format("{} does not take {}", request.path, repaired_utf8(request.method)))));
  }
  response.allow = route == nullptr ? allowed_methods(true, true) : allowed_methods(route->get, route->post);
  return respond(exchange, std::move(response));
}

template <class T>
Task<Parsed<T>> Api::work_on_body(Exchange& exchange, BodyStep<T> step) {
  ApiLimits limits_now = limits();
  if (exchange.request().body.size() <= host_.config.quick_body_bytes_max) {
    co_return step(exchange.request().body, host_.model, limits_now);
  }
  if (host_.body_worker.full()) {
    co_return ApiError(
        429, fmt::format("{} big requests wait to be read, which is as many as may", host_.config.waiting_bodies_max));
  }
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  const WhenClientGone when_gone(exchange, [gone] { gone->store(true, std::memory_order_relaxed); });
  std::function<Parsed<T>()> work = [step, &model = host_.model, limits = std::move(limits_now),
                                     body = std::make_shared<const std::string>(exchange.take_body())] {
    return step(*body, model, limits);
  };
  std::optional<Parsed<T>> result = co_await host_.body_worker.run(std::move(work), gone);
  if (!result || exchange.client_gone()) {
    co_return ApiError(499, "the client went away");
  }
  co_return std::move(*result);
}

template Task<Parsed<PreparedRequest>> Api::work_on_body(Exchange&, BodyStep<PreparedRequest>);
template Task<Parsed<std::string>> Api::work_on_body(Exchange&, BodyStep<std::string>);

ApiLimits Api::limits() const {
  ApiLimits limits;
  limits.model = host_.model.name;
  limits.vocab_size = host_.model.tokenizer.vocab_size();
  limits.samples_max = host_.config.samples_max;
  limits.max_context = max_context();
  return limits;
}

std::uint32_t Api::max_context() const noexcept {
  const std::uint32_t most = host_.generator.max_context();
  return host_.model.max_model_len > 0 ? std::min(most, host_.model.max_model_len) : most;
}

std::int64_t Api::unix_seconds() const noexcept {
  return host_.model.created + std::chrono::duration_cast<std::chrono::seconds>(host_.context.now() - started_).count();
}

}  // namespace baton
