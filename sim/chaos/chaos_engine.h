// The toy engine of one rank under exploration: every step is told to the ledger, some take longer, some fail.
#pragma once

#include <memory>

#include "model/engine/engine.h"
#include "runtime/context.h"
#include "sim/chaos/ledger.h"

namespace baton::chaos {

class ChaosEngine final : public Engine {
 public:
  // The inner engine computes; context and ledger outlive this.
  ChaosEngine(Context& context, std::unique_ptr<Engine> inner, RankId rank, Ledger& ledger)
      : context_(context), inner_(std::move(inner)), rank_(rank), ledger_(ledger) {}

  // Counted, since windows may overlap.
  void slow(bool on) noexcept { slow_ += on ? 1 : -1; }
  void fail_steps(bool on) noexcept { failing_ += on ? 1 : -1; }
  void calm_down() noexcept { slow_ = failing_ = -1000; }

  Task<StepOutput> step(StepBatch batch) override;

  const KvLayout& kv_layout() const noexcept override { return inner_->kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_->context_length(); }

 private:
  Context& context_;
  std::unique_ptr<Engine> inner_;
  RankId rank_;
  Ledger& ledger_;
  int slow_ = 0;
  int failing_ = 0;
};

}  // namespace baton::chaos
