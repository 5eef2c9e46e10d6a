// A model of a few bytes, for worlds without weights: exact tokens in virtual time.
//
// Each position's "key" is a hash of all tokens up to it, read from the page of the position before. The next token
// depends on the last hash alone, so one wrong, stale or foreign page changes every token after it: output that equals
// the reference proves that pages, positions and page tables were right all the way. A step takes a base time and a
// time per row on the context's clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine/engine.h"
#include "runtime/context.h"
#include "sim/timed_engine.h"

namespace baton {

struct ToyEngineConfig {
  std::uint32_t page_tokens = 16;
  std::uint32_t vocab = 997;
  std::uint32_t context = 4096;
  StepCost cost;
};

class ToyEngine final : public Engine {
 public:
  ToyEngine(Context& context, ToyEngineConfig config);

  // Cancellation leaves the step running to its end, as a device would. A page that holds no hash where one is needed
  // throws Error(internal).
  Task<StepOutput> step(StepBatch batch) override;

  const KvLayout& kv_layout() const noexcept override { return layout_; }
  std::uint32_t vocab_size() const noexcept override { return config_.vocab; }
  std::uint32_t context_length() const noexcept override { return config_.context; }

  // What any correct pipeline generates for the prompt: `count` tokens.
  static std::vector<TokenId> reference(std::span<const TokenId> prompt, std::uint32_t count, std::uint32_t vocab,
                                        std::uint64_t seed);

 private:
  std::uint64_t run(const StepSequence& sequence) const;

  Context& context_;
  ToyEngineConfig config_;
  KvLayout layout_;
};

}  // namespace baton
