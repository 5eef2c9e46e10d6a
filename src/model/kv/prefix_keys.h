// Names of prompts' beginnings, page by page: what the prefix cache and the routers know a prompt by.
//
//   tokens  | page 0 | page 1 | page 2 | rest      key[i] = hash of page i's tokens, seeded with key[i - 1]
//
// So key[i] stands for all tokens from the first to the end of page i: equal keys mean equal prefixes, and of two
// prompts the keys are equal up to some page and differ from there on. The rest that fills no page has no key.
//
// Collisions: keys are 64 bits of XXH3, a good hash and no cryptographic one. Among n different prefixes that are known
// at a time a false match has the odds n^2 / 2^65: with a million pages one in forty million. Whoever can choose
// prompts and knows the root could construct one; roots are therefore seeded per process, and tenants who must not meet
// at all are kept apart by salts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/ids.h"

namespace baton {

// Where a chain of keys begins. Prompts under different salts or seeds share nothing.
std::uint64_t prefix_root(std::string_view salt, std::uint64_t seed) noexcept;

// The keys of the whole pages of a prompt: tokens.size() / page_tokens of them. page_tokens > 0.
std::vector<std::uint64_t> prefix_keys(std::span<const TokenId> tokens, std::uint32_t page_tokens, std::uint64_t root);

// How many leading pages of a prompt may come out of a cache: never the one with the last token, which has to be
// computed to know what follows it. `keys` is how many the prompt has; prompt_tokens > 0.
inline std::uint32_t reusable_pages(std::size_t keys, std::uint32_t prompt_tokens, std::uint32_t page_tokens) noexcept {
  const std::uint32_t whole = (prompt_tokens - 1) / page_tokens;
  return keys < whole ? static_cast<std::uint32_t>(keys) : whole;
}

}  // namespace baton
