#include "sim/toy_engine.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"
#include "runtime/sleep.h"

namespace baton {
namespace {

constexpr std::uint64_t kStart = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kMark = 0xba70000000000000;  // upper bits of a key that was really written
constexpr std::uint64_t kMarkMask = 0xfff0000000000000;

// splitmix64's finaliser: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t extend(std::uint64_t hash, TokenId token, std::uint32_t position) {
  const std::uint64_t mixed = mix(hash + mix(static_cast<std::uint64_t>(token) + 1) + position);
  return (mixed & ~kMarkMask) | kMark;
}

TokenId next_token(std::uint64_t hash, std::uint64_t seed, std::uint32_t vocab) {
  return static_cast<TokenId>(mix(hash + seed) % vocab);
}

KvLayout toy_layout(std::uint32_t page_tokens) {
  KvLayout layout;
  layout.layers = 1;
  layout.kv_heads = 1;
  layout.head_dim = 4;
  layout.page_tokens = page_tokens;
  layout.type = KvType::f32;
  return layout;
}

}  // namespace

ToyEngine::ToyEngine(Context& context, ToyEngineConfig config)
    : context_(context), config_(config), layout_(toy_layout(config.page_tokens)) {}

Task<StepOutput> ToyEngine::step(StepBatch batch) {
  co_await sleep_until(context_, context_.now() + config_.cost.of(batch));
  StepOutput output;
  for (const StepSequence& sequence : batch.sequences) {
    const std::uint64_t hash = run(sequence);
    if (sequence.sampling != nullptr) {
      TokenId id = next_token(hash, sequence.sampling->seed, config_.vocab);
      while (std::find(sequence.banned.begin(), sequence.banned.end(), id) != sequence.banned.end()) {
        id = (id + 1) % static_cast<TokenId>(config_.vocab);
      }
      output.sampled.emplace_back(SampledToken(id, 0.0F, {}));
    } else {
      output.sampled.emplace_back(std::nullopt);
    }
  }
  co_return output;
}

std::uint64_t ToyEngine::run(const StepSequence& sequence) const {
  const auto key = [&](std::uint32_t position) {
    BATON_CHECK(position / config_.page_tokens < sequence.pages.size(), position, sequence.pages.size());
    const std::size_t page = sequence.pages[position / config_.page_tokens];
    const std::size_t row = (position % config_.page_tokens) * layout_.head_dim * layout_.value_bytes();
    return sequence.arena + page * layout_.page_bytes() + row;
  };
  std::uint64_t hash = kStart;
  if (sequence.position > 0) {
    std::memcpy(&hash, key(sequence.position - 1), sizeof hash);
    if ((hash & kMarkMask) != kMark) {
      throw Error(Errc::internal, "toy engine: a page does not hold the keys of the positions before");
    }
  }
  for (std::uint32_t i = 0; i < sequence.tokens.size(); ++i) {
    hash = extend(hash, sequence.tokens[i], sequence.position + i);
    std::memcpy(key(sequence.position + i), &hash, sizeof hash);
  }
  return hash;
}

std::vector<TokenId> ToyEngine::reference(std::span<const TokenId> prompt, std::uint32_t count, std::uint32_t vocab,
                                          std::uint64_t seed) {
  std::uint64_t hash = kStart;
  std::uint32_t position = 0;
  for (const TokenId token : prompt) {
    hash = extend(hash, token, position++);
  }
  std::vector<TokenId> tokens;
  while (tokens.size() < count) {
    tokens.push_back(next_token(hash, seed, vocab));
    hash = extend(hash, tokens.back(), position++);
  }
  return tokens;
}

}  // namespace baton
