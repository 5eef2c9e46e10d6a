// The endpoints that ask the model.
#include <utility>

#include "roles/http/api.h"
#include "roles/http/sample_run.h"

namespace baton {
namespace {

class NoAnswer final : public SampleListener {
 public:
  void on_token(std::uint32_t, TokenEvent) override {}
  void on_finish(std::uint32_t, FinishEvent) override {}
};

}  // namespace

Task<unsigned> Api::completions(Exchange& exchange) {
  if (const auto error = unavailable()) {
    co_return refuse(exchange, *error);
  }
  auto request = co_await work_on_body<PreparedRequest>(exchange, &prepare_completion);
  if (!request) {
    co_return refuse(exchange, request.error());
  }
  co_return co_await generate(exchange, AnswerKind::completion, std::move(*request));
}

Task<unsigned> Api::chat_completions(Exchange& exchange) {
  if (const auto error = unavailable()) {
    co_return refuse(exchange, *error);
  }
  auto request = co_await work_on_body<PreparedRequest>(exchange, &prepare_chat);
  if (!request) {
    co_return refuse(exchange, request.error());
  }
  co_return co_await generate(exchange, AnswerKind::chat, std::move(*request));
}

// Starts all samples of all prompts and tells the client what they say.
Task<unsigned> Api::generate(Exchange& exchange, AnswerKind kind, PreparedRequest prepared) {
  const RequestOptions& options = prepared.options;
  AnswerPlan plan = plan_for(kind, options);
  plan.prompts = std::move(prepared.prompts);
  const std::uint64_t seed = options.seed ? *options.seed : host_.ids.draw();
  std::vector<GenerationRequest> requests;
  requests.reserve(plan.samples());
  for (const PreparedPrompt& prompt : plan.prompts) {
    for (std::uint32_t sample = 0; sample < options.n; ++sample) {
      GenerationRequest request;
      request.prompt = prompt.ids;
      request.sampling = options.sampling;
      request.sampling.seed = sample_seed(seed, sample);
      request.stop = options.stop;
      request.stop.max_tokens = prompt.max_tokens;
      request.client_id = exchange.request().request_id;
      request.cache_salt = options.cache_salt;
      requests.push_back(std::move(request));
    }
  }
  if (options.stream) {
    co_return co_await answer_streamed(exchange, plan, std::move(requests));
  }
  co_return co_await answer_whole(exchange, plan, std::move(requests));
}

Task<unsigned> Api::answer_whole(Exchange& exchange, const AnswerPlan& plan, std::vector<GenerationRequest> requests) {
  WholeAnswer answer(plan, host_.model.tokenizer);
  SampleRun run(host_.context, host_.metrics, answer, exchange.request().arrived);
  run.start(host_.generator, std::move(requests));
  const WhenClientGone when_gone(exchange, [&run] { run.abort(); });
  co_await run.run();
  if (run.failure()) {
    co_return refuse(exchange, to_api_error(*run.failure()));
  }
  co_return respond(exchange, HttpResponse(200, answer.text()));
}

Task<unsigned> Api::answer_streamed(Exchange& exchange, const AnswerPlan& plan,
                                    std::vector<GenerationRequest> requests) {
  StreamedAnswer answer(plan, host_.model.tokenizer, exchange);
  SampleRun run(host_.context, host_.metrics, answer, exchange.request().arrived);
  run.start(host_.generator, std::move(requests));
  const WhenClientGone when_gone(exchange, [&run] { run.abort(); });
  co_await run.run();
  if (!run.failure()) {
    answer.finish(draining_);
    co_return 200U;
  }
  if (!answer.begun()) {
    co_return refuse(exchange, to_api_error(*run.failure()));
  }
  answer.fail(*run.failure());
  co_return http_status(run.failure()->code);
}

// One token through the whole path: what a deep probe wants to know.
Task<unsigned> Api::health_generate(Exchange& exchange) {
  if (const auto error = unavailable()) {
    co_return refuse(exchange, *error);
  }
  GenerationRequest request;
  request.prompt = encode_text("Hello", host_.model.tokenizer, true);
  request.sampling.temperature = 0.0F;
  request.stop.max_tokens = 1;
  request.stop.ignore_eos = true;
  request.client_id = exchange.request().request_id;
  std::vector<GenerationRequest> requests;
  requests.push_back(std::move(request));
  NoAnswer listener;
  SampleRun run(host_.context, host_.metrics, listener, exchange.request().arrived);
  run.start(host_.generator, std::move(requests));
  const WhenClientGone when_gone(exchange, [&run] { run.abort(); });
  co_await run.run();
  if (run.failure()) {
    co_return refuse(exchange, to_api_error(*run.failure()));
  }
  co_return respond(exchange, HttpResponse(200, R"({"status":"usable"})"));
}

std::optional<ApiError> Api::unavailable() const {
  if (draining_ || host_.generator.state() == ServiceState::draining) {
    return ApiError(503, "the server is shutting down and takes no new work");
  }
  if (host_.generator.state() == ServiceState::starting) {
    return ApiError(503, "the server is starting, no rank of some role is usable yet");
  }
  return std::nullopt;
}

AnswerPlan Api::plan_for(AnswerKind kind, const RequestOptions& options) {
  AnswerPlan plan;
  plan.head.kind = kind;
  plan.head.id = host_.ids.id(kind == AnswerKind::chat ? "chatcmpl-" : "cmpl-");
  plan.head.created = unix_seconds();
  plan.head.model = host_.model.name;
  plan.head.logprobs = options.sampling.wants_logprobs();
  plan.head.return_token_ids = options.return_token_ids;
  plan.head.return_timeline = options.return_timeline;
  plan.n = options.n;
  plan.include_usage = options.include_usage;
  plan.continuous_usage_stats = options.continuous_usage_stats;
  return plan;
}

}  // namespace baton
