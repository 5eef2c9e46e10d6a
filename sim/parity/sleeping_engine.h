// The cost model in real time: an engine that computes nothing and sleeps as long as a step would take, on the clock of
// whatever context it is used on. A real server with real threads and timers, but for the arithmetic.
//
// How late its sleeps end is counted: it says what the machine's timers and its other work add to every step.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "sim/cluster/cost_engine.h"
#include "sim/report/sample_set.h"

namespace baton::sim {

// Any thread.
class Lateness final {
 public:
  void add(Duration late);
  SampleSet milliseconds() const;

 private:
  mutable std::mutex mutex_;
  SampleSet samples_;  // ms
};

class SleepingEngine final : public Engine {
 public:
  // speed: a step sleeps its cost divided by this. The lateness outlives the engine. One step at a time, one stage.
  SleepingEngine(std::shared_ptr<const CostModel> model, KvLayout layout, std::uint32_t context_length, double speed,
                 Lateness& lateness)
      : model_(std::move(model)),
        layout_(layout),
        context_length_(context_length),
        speed_(speed),
        lateness_(lateness) {}

  Task<StepOutput> step(StepBatch batch) override;

  const KvLayout& kv_layout() const noexcept override { return layout_; }
  std::uint32_t vocab_size() const noexcept override { return 1; }
  std::uint32_t context_length() const noexcept override { return context_length_; }

 private:
  std::shared_ptr<const CostModel> model_;
  KvLayout layout_;
  std::uint32_t context_length_;
  double speed_;
  Lateness& lateness_;
};

}  // namespace baton::sim
