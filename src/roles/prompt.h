// The tokens of a prompt: written once, then shared by the request, the router and both legs without a copy.
//
// A value that never changes; copies share the tokens. Its smallest and largest id are known, so that checking it
// against a vocabulary costs nothing per request, and several prompts may be beginnings of one list of tokens.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

#include "runtime/ids.h"

namespace baton {

class Prompt final {
 public:
  Prompt() = default;
  Prompt(std::vector<TokenId> tokens);  // NOLINT: a list of tokens is a prompt
  Prompt(std::initializer_list<TokenId> tokens) : Prompt(std::vector<TokenId>(tokens)) {}

  // Shares the tokens. length <= size(). least() and largest() may then speak of tokens beyond it.
  Prompt beginning(std::size_t length) const;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const TokenId* data() const noexcept { return text_ ? text_->tokens.data() : nullptr; }
  const TokenId* begin() const noexcept { return data(); }
  const TokenId* end() const noexcept { return data() + size_; }
  TokenId operator[](std::size_t index) const { return data()[index]; }

  TokenId least() const noexcept { return text_ ? text_->least : 0; }
  TokenId largest() const noexcept { return text_ ? text_->largest : 0; }

  friend bool operator==(const Prompt& a, const Prompt& b) noexcept;

 private:
  struct Text {
    std::vector<TokenId> tokens;
    TokenId least = 0;
    TokenId largest = 0;
  };

  std::shared_ptr<const Text> text_;
  std::size_t size_ = 0;
};

}  // namespace baton
