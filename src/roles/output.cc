#include "roles/output.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/mutants.h"

namespace baton {
namespace {

bool contains(std::span<const TokenId> ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::unique_ptr<TextStream> make_stream(const StopConditions& stop, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) {
    return nullptr;
  }
  TextStreamOptions options;
  options.stop = stop.stop_strings;
  options.include_stop = stop.include_stop_string;
  options.skip_special_tokens = stop.skip_special_tokens;
  return std::make_unique<TextStream>(*tokenizer, std::move(options));
}

}  // namespace

std::vector<TokenId> banned_tokens(const StopConditions& stop, std::span<const TokenId> end_of_text,
                                   std::uint32_t produced) {
  if (produced >= stop.min_tokens) {
    return {};
  }
  std::vector<TokenId> banned = stop.stop_token_ids;
  if (!stop.ignore_eos) {
    banned.insert(banned.end(), end_of_text.begin(), end_of_text.end());
  }
  return banned;
}

Output::Output(const GenerationRequest& request, const TextRules& rules)
    : request_(&request), rules_(&rules), stream_(make_stream(request.stop, rules.tokenizer)) {}

Output::Step Output::accept(SampledToken token) {
  const StopConditions& stop = request_->stop;
  const TokenId id = token.id;
  tokens_.push_back(id);
  Step step;
  if (ends_text(id)) {
    finish_.reason = FinishReason::stop;
    finish_.stop_token = id;
    finish_.text = stream_ ? stream_->flush() : std::string();
    step.finished = true;
    return step;
  }
  step.token.emplace(std::move(token), stream_ ? stream_->push(id) : std::string());
  if (stream_ && stream_->stopped()) {
    finish_.reason = FinishReason::stop;
    finish_.stop_string = stream_->stop_strings()[*stream_->matched_stop()];
    step.finished = true;
  } else if (tokens_.size() >= stop.max_tokens) {
    finish_.reason = FinishReason::length;
    finish_.text = stream_ ? stream_->flush() : std::string();
    step.finished = true;
  }
  return step;
}

bool Output::may_end_early() const {
  const StopConditions& stop = request_->stop;
  return stream_ != nullptr || !stop.stop_token_ids.empty() || (!stop.ignore_eos && !rules_->end_of_text.empty());
}

bool Output::accept_run(std::span<const TokenId> ids) {
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  BATON_CHECK(tokens_.size() <= request_->stop.max_tokens, tokens_.size(), request_->stop.max_tokens);
  if (tokens_.size() < request_->stop.max_tokens) {
    return false;
  }
  finish_.reason = FinishReason::length;
  return true;
}

FinishEvent Output::finish() const {
  FinishEvent event = finish_;
  const std::size_t again = mutant(Mutant::first_token_counts_twice) ? 1 : 0;
  event.usage.completion_tokens = static_cast<std::uint32_t>(tokens_.size() + again);
  return event;
}

bool Output::ends_text(TokenId id) const {
  const StopConditions& stop = request_->stop;
  return contains(stop.stop_token_ids, id) || (!stop.ignore_eos && contains(rules_->end_of_text, id));
}

}  // namespace baton
