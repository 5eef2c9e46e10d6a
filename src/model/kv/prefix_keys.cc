#include "model/kv/prefix_keys.h"

#include <xxhash.h>

#include "runtime/check.h"

namespace baton {

std::uint64_t prefix_root(std::string_view salt, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(salt.data(), salt.size(), seed);
}

std::vector<std::uint64_t> prefix_keys(std::span<const TokenId> tokens, std::uint32_t page_tokens, std::uint64_t root) {
  BATON_CHECK(page_tokens > 0);
  std::vector<std::uint64_t> keys;
  keys.reserve(tokens.size() / page_tokens);
  std::uint64_t key = XXH3_64bits_withSeed(&page_tokens, sizeof page_tokens, root);  // sizes of pages share nothing
  for (std::size_t first = 0; first + page_tokens <= tokens.size(); first += page_tokens) {
    key = XXH3_64bits_withSeed(&tokens[first], page_tokens * sizeof(TokenId), key);
    keys.push_back(key);
  }
  return keys;
}

}  // namespace baton
