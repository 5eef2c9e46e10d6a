// Text to token ids and back: byte-level BPE as GPT-2, SmolLM2, Llama 3 and Qwen2/2.5/3 use it.
//
//   text --(invalid UTF-8 becomes U+FFFD)--> cut at added tokens --> pre-tokenizer pieces --> merges --> ids
//
// Const and shared by all threads once built. Control tokens are only recognised where the caller allows it
// (TextSegment). Encoding is linear in the text but for a logarithm: a megabyte of one letter is no attack.
// Unicode NFC, which Qwen's files ask for, is not applied: text already in NFC (nearly all text) gives the same ids,
// text with separate combining marks gives the ids llama.cpp gives. Bytes that have no token at all (SmolLM2 lacks six
// control characters and the lead bytes of planes 4 to 15) give no id, as in Hugging Face and llama.cpp: an unknown
// token may be one that ends the text, and no client may write that.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/text/text_segment.h"
#include "model/text/vocabulary.h"
#include "runtime/ids.h"

namespace baton {

struct EncodeOptions {
  bool add_special = false;    // put BOS first (and EOS last) where the model's files ask for it
  bool parse_special = false;  // recognise control tokens in the text; never for text a client wrote
};

class Tokenizer final {
 public:
  // Throws Error(bad_file) where the vocabulary contradicts itself: doubled tokens, merges of unknown tokens, special
  // ids out of range, an unknown pre-tokenizer.
  explicit Tokenizer(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  // Encodes the segments as one text: pieces may span segments, control tokens are matched inside trusted ones only.
  std::vector<TokenId> encode(std::span<const TextSegment> segments, bool add_special = false) const;

  // Valid UTF-8: bytes that form no character become U+FFFD. skip_special leaves control tokens out.
  // A stream of tokens goes through TextStream instead.
  std::string decode(std::span<const TokenId> ids, bool skip_special = true) const;

  // The bytes a token stands for; any cut through a character is possible. None for ids out of range, which a model
  // whose logits have padding rows may produce.
  std::string_view token_bytes(TokenId id) const;
  std::optional<TokenId> find(std::string_view bytes) const;  // the token that stands for exactly these bytes

  bool is_end_of_generation(TokenId id) const;  // false for ids out of range
  bool is_special(TokenId id) const;            // control or unknown: not shown to clients by default
  std::size_t vocab_size() const noexcept;      // the model may have more rows of logits than this
  std::span<const TokenId> end_of_generation_ids() const noexcept;  // ascending
  const Vocabulary& vocabulary() const noexcept;                    // without merges, which were compiled

 private:
  struct Tables;
  class Encoding;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace baton
