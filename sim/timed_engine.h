// Any engine, but every step also takes time on the context's clock: exact tokens of a real model in virtual time, with
// steps long enough for other things to happen meanwhile.
#pragma once

#include <memory>

#include "model/engine/engine.h"
#include "runtime/context.h"

namespace baton {

struct StepCost {
  Duration base = std::chrono::microseconds(200);
  Duration row = std::chrono::microseconds(10);

  Duration of(const StepBatch& batch) const;
};

class TimedEngine final : public Engine {
 public:
  TimedEngine(Context& context, std::unique_ptr<Engine> inner, StepCost cost)
      : context_(context), inner_(std::move(inner)), cost_(cost) {}

  // Half of the time passes before the inner step, half after it. Cancelled in the first half, nothing is computed.
  Task<StepOutput> step(StepBatch batch) override;

  const KvLayout& kv_layout() const noexcept override { return inner_->kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_->context_length(); }

 private:
  Context& context_;
  std::unique_ptr<Engine> inner_;
  StepCost cost_;
};

}  // namespace baton
