#include "roles/prompt.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"

namespace baton {

Prompt::Prompt(std::vector<TokenId> tokens) : size_(tokens.size()) {
  if (tokens.empty()) {
    return;
  }
  const auto [least, largest] = std::ranges::minmax(tokens);
  text_ = std::make_shared<const Text>(Text{std::move(tokens), least, largest});
}

Prompt Prompt::beginning(std::size_t length) const {
  BATON_CHECK(length <= size_, length, size_);
  Prompt shorter = *this;
  shorter.size_ = length;
  return shorter;
}

bool operator==(const Prompt& a, const Prompt& b) noexcept {
  return std::ranges::equal(a, b);
}

}  // namespace baton
