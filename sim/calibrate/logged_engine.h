// An engine that writes what each of its steps computed, and how long it took, to a step log.
#pragma once

#include <memory>
#include <utility>

#include "model/engine/engine.h"
#include "sim/calibrate/step_log.h"

namespace baton::sim {

// Used on the contexts of ranks, whose clock it reads.
class LoggedEngine final : public Engine {
 public:
  // The log outlives the engine. `epoch`: what begin_s counts from.
  LoggedEngine(RankId rank, std::unique_ptr<Engine> inner, StepLogWriter& log, TimePoint epoch)
      : rank_(rank), inner_(std::move(inner)), log_(log), epoch_(epoch) {}

  Task<StepOutput> step(StepBatch batch) override;

  const KvLayout& kv_layout() const noexcept override { return inner_->kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_->context_length(); }

 private:
  RankId rank_;
  std::unique_ptr<Engine> inner_;
  StepLogWriter& log_;
  TimePoint epoch_;
};

}  // namespace baton::sim
