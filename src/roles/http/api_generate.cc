// The endpoints that ask the model.
#include <algorithm>
#include <utility>

#include "roles/http/api.h"
#include "roles/http/prompt_fit.h"
#include "roles/http/sample_run.h"

namespace baton {
namespace {

// Aborts the run when its client goes away, as long as this lives.
class AbortOnLoss final {
 public:
  AbortOnLoss(Exchange& exchange, SampleRun& run) : exchange_(exchange) {
    exchange_.on_client_gone([&run] { run.abort(); });
  }
  AbortOnLoss(const AbortOnLoss&) = delete;
  AbortOnLoss& operator=(const AbortOnLoss&) = delete;
  ~AbortOnLoss() { exchange_.on_client_gone({}); }

 private:
  Exchange& exchange_;
};

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
  auto request = parse_completion_request(exchange.request().body, limits_);
  if (!request) {
    co_return refuse(exchange, request.error());
  }
  AnswerPlan plan = plan_for(AnswerKind::completion, request->options);
  for (PromptInput& input : request->prompts) {
    PreparedPrompt prompt;
    if (auto* text = std::get_if<std::string>(&input)) {
      prompt.ids = encode_text(*text, request->add_special_tokens);
      prompt.echo = request->echo ? std::move(*text) : std::string();
    } else {
      prompt.ids = std::move(std::get<std::vector<TokenId>>(input));
      prompt.echo = request->echo ? host_.model.tokenizer.decode(prompt.ids) : std::string();
    }
    plan.prompts.push_back(std::move(prompt));
  }
  co_return co_await generate(exchange, request->options, plan);
}

Task<unsigned> Api::chat_completions(Exchange& exchange) {
  if (const auto error = unavailable()) {
    co_return refuse(exchange, *error);
  }
  auto request = parse_chat_request(exchange.request().body, limits_);
  if (!request) {
    co_return refuse(exchange, request.error());
  }
  auto ids = encode_chat(request->messages, request->chat, request->add_special_tokens);
  if (!ids) {
    co_return refuse(exchange, ids.error());
  }
  AnswerPlan plan = plan_for(AnswerKind::chat, request->options);
  plan.prompts.emplace_back();
  plan.prompts.back().ids = std::move(*ids);
  co_return co_await generate(exchange, request->options, plan);
}

// Starts all samples of all prompts and tells the client what they say.
Task<unsigned> Api::generate(Exchange& exchange, const RequestOptions& options, AnswerPlan& plan) {
  const std::uint64_t seed = options.seed ? *options.seed : host_.ids.draw();
  std::vector<GenerationRequest> requests;
  requests.reserve(plan.samples());
  for (PreparedPrompt& prompt : plan.prompts) {
    const auto max_tokens = fit_prompt(prompt.ids, options, max_context());
    if (!max_tokens) {
      co_return refuse(exchange, max_tokens.error());
    }
    for (std::uint32_t sample = 0; sample < options.n; ++sample) {
      GenerationRequest request;
      request.prompt = prompt.ids;
      request.sampling = options.sampling;
      request.sampling.seed = sample_seed(seed, sample);
      request.stop = options.stop;
      request.stop.max_tokens = *max_tokens;
      request.client_id = exchange.request().request_id;
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
  const AbortOnLoss abort_on_loss(exchange, run);
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
  const AbortOnLoss abort_on_loss(exchange, run);
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
  request.prompt = encode_text("Hello", true);
  request.sampling.temperature = 0.0F;
  request.stop.max_tokens = 1;
  request.stop.ignore_eos = true;
  request.client_id = exchange.request().request_id;
  std::vector<GenerationRequest> requests;
  requests.push_back(std::move(request));
  NoAnswer listener;
  SampleRun run(host_.context, host_.metrics, listener, exchange.request().arrived);
  run.start(host_.generator, std::move(requests));
  const AbortOnLoss abort_on_loss(exchange, run);
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

std::uint32_t Api::max_context() const noexcept {
  const std::uint32_t most = host_.generator.max_context();
  return host_.model.max_model_len > 0 ? std::min(most, host_.model.max_model_len) : most;
}

}  // namespace baton
