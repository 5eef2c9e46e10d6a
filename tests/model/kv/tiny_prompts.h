// What the tests of the prefix cache compute with: pages of four tokens, and prompts as the keys of their pages.
#pragma once

#include <cstdint>
#include <vector>

#include "model/kv/kv_layout.h"

namespace baton {

inline constexpr std::uint32_t kPageTokens = 4;

inline KvLayout tiny_layout() {
  KvLayout layout;
  layout.layers = 1;
  layout.kv_heads = 1;
  layout.head_dim = 8;
  layout.page_tokens = kPageTokens;
  return layout;
}

using Keys = std::vector<std::uint64_t>;

}  // namespace baton
