#include "model/text/text_stream.h"

#include <utility>

#include "model/text/tokenizer.h"

namespace baton {

TextStream::TextStream(const Tokenizer& tokenizer, TextStreamOptions options)
    : tokenizer_(&tokenizer),
      matcher_(std::move(options.stop)),
      include_stop_(options.include_stop),
      skip_special_tokens_(options.skip_special_tokens) {}

std::string TextStream::push(TokenId id) {
  if (skip_special_tokens_ && tokenizer_->is_special(id)) {
    return {};
  }
  return push_bytes(tokenizer_->token_bytes(id));
}

std::string TextStream::push_bytes(std::string_view bytes) {
  if (stopped()) {
    return {};
  }
  std::string text;
  utf8_.append(bytes, text);
  return release(text);
}

std::string TextStream::flush() {
  if (stopped()) {
    return {};
  }
  std::string tail;
  utf8_.finish(tail);
  std::string text = release(tail);
  text += held_;
  held_.clear();
  state_ = 0;
  return text;
}

// Feeds valid UTF-8 to the matcher and returns what no stop string can claim any more.
std::string TextStream::release(std::string_view text) {
  std::string out = std::exchange(held_, {});
  for (const char byte : text) {
    out += byte;
    state_ = matcher_.next(state_, byte);
    matched_ = matcher_.match(state_);
    if (matched_) {
      const std::size_t stop_bytes = matcher_.patterns()[*matched_].size();
      out.resize(out.size() - (include_stop_ ? 0 : stop_bytes));
      return out;
    }
  }
  const std::size_t held = matcher_.depth(state_);
  held_ = out.substr(out.size() - held);
  out.resize(out.size() - held);
  return out;
}

}  // namespace baton
