#include "roles/http/answers.h"

#include <algorithm>
#include <utility>

#include "roles/http/api_error.h"

namespace baton {
namespace {

bool lists_tokens(const AnswerHead& head) noexcept {
  return head.logprobs || head.return_token_ids;
}

std::uint32_t prompt_tokens(const AnswerPlan& plan) {
  std::size_t tokens = 0;
  for (const PreparedPrompt& prompt : plan.prompts) {
    tokens += prompt.ids.size();
  }
  return static_cast<std::uint32_t>(tokens);
}

}  // namespace

Usage total_usage(const AnswerPlan& plan, const std::vector<FinishEvent>& finishes) {
  Usage total;
  total.prompt_tokens = prompt_tokens(plan);
  for (std::size_t first = 0; first < finishes.size(); first += plan.n) {
    std::uint32_t cached = finishes[first].usage.cached_tokens;
    for (std::size_t i = first; i < first + plan.n; ++i) {
      cached = std::min(cached, finishes[i].usage.cached_tokens);
      total.completion_tokens += finishes[i].usage.completion_tokens;
    }
    total.cached_tokens += cached;
  }
  return total;
}

WholeAnswer::WholeAnswer(const AnswerPlan& plan, const Tokenizer& tokenizer)
    : plan_(plan), writer_(plan.head, tokenizer), parts_(plan.samples()), finishes_(plan.samples()) {
  for (std::uint32_t index = 0; index < parts_.size(); ++index) {
    const PreparedPrompt& prompt = plan_.prompt_of(index);
    parts_[index].index = index;
    parts_[index].text = prompt.echo;
    parts_[index].prompt = plan_.head.return_token_ids ? &prompt.ids : nullptr;
    parts_[index].finish = &finishes_[index];
  }
}

void WholeAnswer::on_token(std::uint32_t index, TokenEvent event) {
  parts_[index].text += event.text;
  if (lists_tokens(plan_.head)) {
    parts_[index].tokens.push_back(std::move(event.token));
  }
}

void WholeAnswer::on_finish(std::uint32_t index, FinishEvent event) {
  parts_[index].text += event.text;
  finishes_[index] = std::move(event);
}

std::string WholeAnswer::text() {
  return writer_.whole(parts_, total_usage(plan_, finishes_));
}

StreamedAnswer::StreamedAnswer(const AnswerPlan& plan, const Tokenizer& tokenizer, Exchange& exchange)
    : plan_(plan),
      writer_(plan.head, tokenizer),
      exchange_(exchange),
      progress_(plan.samples()),
      finishes_(plan.samples()) {
  so_far_.prompt_tokens = prompt_tokens(plan);
}

void StreamedAnswer::on_token(std::uint32_t index, TokenEvent event) {
  ++so_far_.completion_tokens;
  if (lists_tokens(plan_.head)) {
    progress_[index].held.push_back(std::move(event.token));
  }
  if (!event.text.empty()) {
    send(index, std::move(event.text), nullptr);
  }
}

void StreamedAnswer::on_finish(std::uint32_t index, FinishEvent event) {
  finishes_[index] = std::move(event);
  send(index, finishes_[index].text, &finishes_[index]);
}

void StreamedAnswer::finish(bool close) {
  if (plan_.include_usage) {
    exchange_.event(writer_.usage_chunk(total_usage(plan_, finishes_)));
  }
  exchange_.event("[DONE]");
  exchange_.end_events(close);
}

void StreamedAnswer::fail(const Failure& failure) {
  exchange_.event(error_body(to_api_error(failure)));
  exchange_.event("[DONE]");
  exchange_.end_events(true);
}

void StreamedAnswer::send(std::uint32_t index, std::string text, const FinishEvent* finish) {
  if (!begun_) {
    exchange_.begin_events();
    begun_ = true;
  }
  Progress& progress = progress_[index];
  const PreparedPrompt& prompt = plan_.prompt_of(index);
  ChoicePart part;
  part.index = index;
  part.first = !progress.started;
  part.text = part.first ? prompt.echo + text : std::move(text);
  part.tokens = std::exchange(progress.held, {});
  part.text_offset = progress.text_offset;
  part.prompt = part.first && plan_.head.return_token_ids ? &prompt.ids : nullptr;
  part.finish = finish;
  exchange_.event(writer_.chunk(part, plan_.continuous_usage_stats ? &so_far_ : nullptr));
  progress.started = true;
  if (plan_.head.logprobs) {
    progress.text_offset += writer_.characters(part.tokens);
  }
}

}  // namespace baton
