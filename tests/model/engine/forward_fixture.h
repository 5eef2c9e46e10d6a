// Helpers of the engine's tests: sequences with pages of their own, computed step by step through forward().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/compute_pool.h"
#include "model/engine/forward.h"
#include "model/engine/weights.h"

namespace baton::test {

// Runs a step on the pool and waits for its end; rethrows what it threw.
inline void run_on(kernels::ComputePool& pool, std::function<void(kernels::Lane&)> step) {
  std::promise<void> done;
  pool.submit(kernels::Priority::prefill, std::move(step), [&done](std::exception_ptr error) {
    if (error) {
      done.set_exception(error);
    } else {
      done.set_value();
    }
  });
  done.get_future().get();
}

inline KvLayout layout_of(const ModelShape& shape, std::uint32_t page_tokens, KvType type) {
  KvLayout layout;
  layout.layers = shape.layers;
  layout.kv_heads = shape.kv_heads;
  layout.head_dim = shape.head_dim;
  layout.page_tokens = page_tokens;
  layout.type = type;
  return layout;
}

// Page memory filled with a pattern that reads as NaN in f16 and f32, so that reading what nobody wrote shows; pages
// are handed out in a shuffled order.
class TestArena {
 public:
  TestArena(const KvLayout& layout, std::uint32_t tokens, std::uint32_t seed)
      : layout_(layout), memory_(layout.page_bytes() * (layout.pages_for(tokens) + 8), std::byte{0xFF}) {
    for (std::uint32_t page = 0; page < layout.pages_for(tokens) + 8; ++page) {
      free_.push_back(page);
    }
    std::shuffle(free_.begin(), free_.end(), std::mt19937(seed));
  }
  const KvLayout& layout() const { return layout_; }
  std::byte* base() { return memory_.data(); }
  PageId take() {
    const PageId page = free_.at(free_.size() - 1);
    free_.pop_back();
    return page;
  }

 private:
  KvLayout layout_;
  std::vector<std::byte> memory_;
  std::vector<PageId> free_;
};

// A prompt (or a forced text) on its way through the model.
struct TestSequence {
  TestSequence(TestArena& arena_in, std::vector<TokenId> tokens_in) : arena(&arena_in), tokens(std::move(tokens_in)) {}

  std::size_t left() const { return tokens.size() - position; }

  TestArena* arena;
  std::vector<TokenId> tokens;
  std::uint32_t position = 0;
  std::vector<PageId> pages;
};

using Logits = std::vector<float>;

struct StepPart {
  TestSequence* sequence;
  std::size_t count;         // tokens to compute now
  bool wants_logits = true;  // of the last of them
};

// Computes one step and advances the sequences. Returns logits in the order of the parts that want them.
inline std::vector<Logits> advance(kernels::ComputePool& pool, const Weights& weights, std::vector<StepPart> parts) {
  std::vector<ForwardSequence> sequences;
  for (StepPart& part : parts) {
    TestSequence& s = *part.sequence;
    const KvLayout& layout = s.arena->layout();
    while (s.pages.size() < layout.pages_for(s.position + part.count)) {
      s.pages.push_back(s.arena->take());
    }
    sequences.push_back({std::span(s.tokens).subspan(s.position, part.count), s.position, s.arena->base(),
                         s.pages.data(), part.wants_logits});
  }
  std::vector<Logits> result;
  const std::size_t vocab = weights.shape().vocab;
  const LogitsSink sink = [&](std::size_t first, std::size_t count, const float* logits) {
    if (first != result.size()) {
      throw std::logic_error("rows out of order");
    }
    for (std::size_t i = 0; i < count; ++i) {
      result.emplace_back(logits + i * vocab, logits + (i + 1) * vocab);
    }
  };
  run_on(pool, [&](kernels::Lane& lane) {
    forward(lane, weights, parts.front().sequence->arena->layout(), sequences, sink);
  });
  for (StepPart& part : parts) {
    part.sequence->position += static_cast<std::uint32_t>(part.count);
  }
  return result;
}

// Logits after every token, computed one token at a time and alone.
inline std::vector<Logits> token_by_token(kernels::ComputePool& pool, const Weights& weights, TestSequence& sequence) {
  std::vector<Logits> all;
  while (sequence.left() > 0) {
    all.push_back(advance(pool, weights, {{&sequence, 1, true}}).at(0));
  }
  return all;
}

inline std::vector<TokenId> random_tokens(std::size_t count, std::uint32_t vocab, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random() % vocab);
  }
  return tokens;
}

}  // namespace baton::test
