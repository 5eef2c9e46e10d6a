// The endpoints: from a request to its answer, without sockets.
//
//   POST /v1/completions, /v1/chat/completions    GET /v1/models, /v1/models/NAME    GET /metrics, /version
//   POST /tokenize, /detokenize (also under /v1)  GET /health, /health_generate      GET or POST /ping
//
// HEAD works where GET does; OPTIONS says what is allowed. One per server, on its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roles/generation.h"
#include "roles/http/answers.h"
#include "roles/http/api_error.h"
#include "roles/http/api_request.h"
#include "roles/http/body_work.h"
#include "roles/http/http_config.h"
#include "roles/http/http_message.h"
#include "roles/http/id_source.h"
#include "roles/http/served_model.h"
#include "runtime/task.h"

namespace baton {

class BodyWorker;
class HttpMetrics;
class MetricsRegistry;

// What the endpoints work with; all of it outlives the Api.
struct ApiHost {
  Context& context;
  Generator& generator;
  const ServedModel& model;
  const HttpConfig& config;
  const MetricsRegistry& registry;
  HttpMetrics& metrics;
  IdSource& ids;
  BodyWorker& body_worker;
};

class Api final {
 public:
  explicit Api(const ApiHost& host);

  // Completes when the exchange has its whole answer, or its client is gone. Throws only when cancelled.
  Task<> handle(Exchange& exchange);

  // From now on new work is refused with 503 and every answer ends its connection.
  void drain() noexcept { draining_ = true; }
  bool draining() const noexcept { return draining_; }

 private:
  // Every endpoint gives its answer and returns the status to count it under.
  using Endpoint = Task<unsigned> (Api::*)(Exchange&);
  struct Route {
    std::string_view path;
    bool get;
    bool post;
    Endpoint endpoint;
  };
  static const Route* find_route(std::string_view path) noexcept;

  Task<unsigned> contained(Exchange& exchange, const Route& route);
  unsigned respond(Exchange& exchange, HttpResponse response);
  unsigned refuse(Exchange& exchange, const ApiError& error);
  unsigned fail_inside(Exchange& exchange, const std::string& fault);
  unsigned answer_method(Exchange& exchange, const Route* route);

  // Takes the step here if the body is small, else on the worker's thread. 429 when that has too much to do, 499 when
  // the client has gone meanwhile.
  template <class T>
  Task<Parsed<T>> work_on_body(Exchange& exchange, BodyStep<T> step);

  // api_generate.cc
  Task<unsigned> completions(Exchange& exchange);
  Task<unsigned> chat_completions(Exchange& exchange);
  Task<unsigned> health_generate(Exchange& exchange);
  Task<unsigned> generate(Exchange& exchange, AnswerKind kind, PreparedRequest request);
  Task<unsigned> answer_whole(Exchange& exchange, const AnswerPlan& plan, std::vector<GenerationRequest> requests);
  Task<unsigned> answer_streamed(Exchange& exchange, const AnswerPlan& plan, std::vector<GenerationRequest> requests);
  std::optional<ApiError> unavailable() const;
  AnswerPlan plan_for(AnswerKind kind, const RequestOptions& options);

  // api_plain.cc
  Task<unsigned> models(Exchange& exchange);
  Task<unsigned> health(Exchange& exchange);
  Task<unsigned> metrics(Exchange& exchange);
  Task<unsigned> version(Exchange& exchange);
  Task<unsigned> ping(Exchange& exchange);
  Task<unsigned> tokenize(Exchange& exchange);
  Task<unsigned> detokenize(Exchange& exchange);

  ApiLimits limits() const;
  std::uint32_t max_context() const noexcept;
  std::int64_t unix_seconds() const noexcept;

  ApiHost host_;
  TimePoint started_;
  bool draining_ = false;
};

}  // namespace baton
