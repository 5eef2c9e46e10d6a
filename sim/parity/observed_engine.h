// Any engine, but what goes into its steps is noted, and a step ends when a gate lets it.
//
// It takes no rounds: a step is a decision each.
#pragma once

#include <memory>
#include <utility>

#include "model/engine/engine.h"
#include "sim/parity/decision_log.h"
#include "sim/parity/gate.h"

namespace baton::sim {

class ObservedEngine final : public Engine {
 public:
  // The log and the gate outlive the engine.
  ObservedEngine(RankId rank, std::unique_ptr<Engine> inner, DecisionLog& log, Gate& gate)
      : rank_(rank), inner_(std::move(inner)), log_(log), gate_(gate) {}

  Task<StepOutput> step(StepBatch batch) override;
  Task<> can_begin() override { return inner_->can_begin(); }
  std::uint32_t drafts() const noexcept override { return inner_->drafts(); }
  Task<> host_copy(std::uint64_t bytes) override { return inner_->host_copy(bytes); }

  const KvLayout& kv_layout() const noexcept override { return inner_->kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_->context_length(); }

 private:
  RankId rank_;
  std::unique_ptr<Engine> inner_;
  DecisionLog& log_;
  Gate& gate_;
};

}  // namespace baton::sim
