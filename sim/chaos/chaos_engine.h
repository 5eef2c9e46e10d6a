// The toy engine of one rank under exploration: every step is told to the ledger, some take longer, some fail.
#pragma once

#include <memory>

#include "runtime/context.h"
#include "sim/chaos/ledger.h"
#include "sim/wrapped_engine.h"

namespace baton::chaos {

class ChaosEngine final : public WrappedEngine {
 public:
  // The inner engine computes; context and ledger outlive this.
  ChaosEngine(Context& context, std::unique_ptr<Engine> inner, RankId rank, Ledger& ledger)
      : WrappedEngine(std::move(inner)), context_(context), rank_(rank), ledger_(ledger) {}

  // Counted, since windows may overlap.
  void slow(bool on) noexcept { slow_ += on ? 1 : -1; }
  void fail_steps(bool on) noexcept { failing_ += on ? 1 : -1; }
  void calm_down() noexcept { slow_ = failing_ = -1000; }

  Task<StepOutput> step(StepBatch batch) override;

 private:
  Context& context_;
  RankId rank_;
  Ledger& ledger_;
  int slow_ = 0;
  int failing_ = 0;
};

}  // namespace baton::chaos
