// A vocabulary small enough to see through: the 256 bytes (id = place in the list below), a few merges, and added
// tokens of both kinds.
#pragma once

#include <string>

#include "model/text/byte_alphabet.h"
#include "model/text/vocabulary.h"

namespace baton {

inline constexpr TokenId kFirstMerged = 256;

// Byte b is token b. Then "ab" 256, "bc" 257, "abc" 258, "aa" 259, "aaaa" 260; "<|end|>" 261 (control, eos), "<think>"
// 262 (user-defined), "<|endoftext|>" 263 (control). The merge of "ab" comes first.
inline Vocabulary byte_vocabulary() {
  Vocabulary vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    vocabulary.tokens.push_back(alphabet_of_bytes(std::string(1, c)));
  }
  for (const char* text : {"ab", "bc", "abc", "aa", "aaaa"}) {
    vocabulary.tokens.emplace_back(text);
  }
  vocabulary.kinds.assign(vocabulary.tokens.size(), TokenKind::normal);
  vocabulary.merges = {"a b", "b c", "ab c", "a a", "aa aa"};
  for (const char* text : {"<|end|>", "<think>", "<|endoftext|>"}) {
    vocabulary.tokens.emplace_back(text);
    vocabulary.kinds.push_back(text == std::string("<think>") ? TokenKind::user_defined : TokenKind::control);
  }
  vocabulary.eos = 261;
  return vocabulary;
}

}  // namespace baton
