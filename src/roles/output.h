// What one sample has produced: its tokens, the text shown so far, and whether it is finished.
//
// Tests every token, the first one from the hand-over included, for end of text, stop tokens, stop strings and the
// token limit, in that order. Owned by the decode room; no clock, no waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/text/text_stream.h"
#include "model/text/tokenizer.h"
#include "roles/generation.h"

namespace baton {

// Facts about the model that ends of text depend on; both outlive every room. Without a tokenizer (simulated models)
// tokens have no text and stop strings never match.
struct TextRules {
  const Tokenizer* tokenizer = nullptr;
  std::vector<TokenId> end_of_text;  // ascending
};

// Ids that must not be drawn as the next token: ends of text while `produced` is below min_tokens. With ignore_eos the
// client's stop tokens only. Empty in the usual case.
std::vector<TokenId> banned_tokens(const StopConditions& stop, std::span<const TokenId> end_of_text,
                                   std::uint32_t produced);

class Output final {
 public:
  struct Step {
    std::optional<TokenEvent> token;  // absent for a token that ended the text
    bool finished = false;
  };

  Output(const GenerationRequest& request, const TextRules& rules);

  // Takes the next token. Must not be called after it said finished.
  Step accept(SampledToken token);

  // Whether a token can end it before its limit, or its text matters: then tokens come one by one.
  bool may_end_early() const;
  // Room for all tokens there can be: tokens() moves no more.
  void reserve() { tokens_.reserve(request_->stop.max_tokens); }
  // Takes several tokens; true if the last one was the last of all. REQUIRES !may_end_early(), and no more tokens than
  // the limit allows.
  bool accept_run(std::span<const TokenId> ids);

  const std::vector<TokenId>& tokens() const noexcept { return tokens_; }

  // The end, once accept() said finished. Usage's prompt side and the timeline are the caller's to fill.
  FinishEvent finish() const;

 private:
  bool ends_text(TokenId id) const;

  const GenerationRequest* request_;
  const TextRules* rules_;
  std::unique_ptr<TextStream> stream_;  // absent without a tokenizer
  std::vector<TokenId> tokens_;
  FinishEvent finish_;
};

}  // namespace baton
