// Cuts text into the pieces within which tokens are merged: regular expressions, one set per model family.
//
// Several rules are applied one after another, each inside the pieces of the one before; a match is a piece and so is
// every gap between matches. Compiled by PCRE2 with its JIT. Const and shared by all threads: each split has its own
// match data. Blanks are spelt out as Unicode's White_Space, which is what Hugging Face's \s means (PCRE2's own takes
// U+180E too). Letter and number classes are those of PCRE2's Unicode version (14 in 10.42).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

class PreTokenizer final {
 public:
  // By the name GGUF uses (tokenizer.ggml.pre). Throws Error(bad_file) for one that is not known.
  explicit PreTokenizer(std::string_view name);
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;

  // The pieces in order, without gaps; they point into text, which must be valid UTF-8.
  std::vector<std::string_view> split(std::string_view text) const;

  static bool knows(std::string_view name) noexcept;
  // Llama 3's tokenizers take a piece that is itself a token whole and put BOS first, unless the file says otherwise.
  static bool is_llama3(std::string_view name) noexcept;

 private:
  class Rule;
  std::vector<std::unique_ptr<const Rule>> rules_;
};

}  // namespace baton
