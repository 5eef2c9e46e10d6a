// Tokens of one generated text in, text that may be shown out.
//
// Holds back what cannot be shown yet: half a UTF-8 character, and any tail that may be the beginning of a stop
// string. What was returned is never taken back; the concatenation of everything returned does not depend on how the
// text was cut into tokens. A value: copying it copies the position. Not thread-safe. The tokenizer must outlive it.
//
// Of several stop strings the one that ends first wins; of those ending at the same character the longest.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/text/stop_matcher.h"
#include "model/text/utf8.h"
#include "runtime/ids.h"

namespace baton {

class Tokenizer;

struct TextStreamOptions {
  std::vector<std::string> stop;
  bool include_stop = false;        // include_stop_str_in_output: the stop string is part of the text
  bool skip_special_tokens = true;  // control tokens give no text
};

class TextStream final {
 public:
  // Throws Error(invalid_argument) for stop strings that StopMatcher::validate refuses.
  TextStream(const Tokenizer& tokenizer, TextStreamOptions options);

  // The text that may be shown after this token, often empty. After a stop string matched: always empty.
  std::string push(TokenId id);

  // The same for raw bytes, which is what push(TokenId) does with the token's.
  std::string push_bytes(std::string_view bytes);

  // The end of the text: what was held back; half a character becomes U+FFFD. Nothing may be pushed afterwards.
  std::string flush();

  bool stopped() const noexcept { return matched_.has_value(); }
  // Which stop string matched, as an index into options.stop.
  std::optional<std::size_t> matched_stop() const noexcept { return matched_; }
  const std::vector<std::string>& stop_strings() const noexcept { return matcher_.patterns(); }
  std::size_t held_bytes() const noexcept { return held_.size() + utf8_.pending(); }

 private:
  std::string release(std::string_view text);

  const Tokenizer* tokenizer_;
  StopMatcher matcher_;
  Utf8Repair utf8_;
  StopMatcher::State state_ = 0;
  std::string held_;  // valid UTF-8, a prefix of some stop string
  std::optional<std::size_t> matched_;
  bool include_stop_;
  bool skip_special_tokens_;
};

}  // namespace baton
