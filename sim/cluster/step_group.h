// Ranks that step together: an expert-parallel group under attention data parallelism.
//
//   members' steps --> waiting --one group step: the slowest sets the time, idle members take part--> all go on
//
// Each member keeps its own requests and pages and forms its own batch; the experts are shared, so that no member can
// be a layer ahead of another. A member that comes while a step is under way waits for the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/engine/engine.h"
#include "runtime/context.h"
#include "runtime/pulse.h"
#include "sim/cluster/cost_engine.h"

namespace baton::sim {

class StepGroup final {
 public:
  // The model outlives the group.
  StepGroup(Context& context, const CostModel& model, std::uint32_t members);

  // Steps whenever a member wants to. Spawned once; runs until cancelled.
  Task<> run();

  TimePoint now() const noexcept { return context_.now(); }
  Context& context() noexcept { return context_; }
  // Completes when the group step that this load was part of has ended; gives what it cost.
  Task<StepCost> step(std::uint32_t member, const StepLoad& load);

 private:
  struct Member {
    StepLoad load;
    bool waiting = false;
    bool in_step = false;
    StepCost cost;
    Pulse done;
    explicit Member(Context& context) : done(context, "group step") {}
  };

  bool anyone_waits() const noexcept;

  Context& context_;
  const CostModel& model_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<StepLoad> loads_;
  Pulse wanted_;
};

// One member's engine. Prompts and decode rows as CostEngine has them; no rounds, since the others have a say.
class GroupEngine final : public Engine {
 public:
  GroupEngine(StepGroup& group, std::uint32_t member, CostEngineConfig config, EngineAccount& account)
      : group_(group), member_(member), config_(config), account_(account) {}

  Task<StepOutput> step(StepBatch batch) override;
  std::uint32_t drafts() const noexcept override { return config_.speculation.drafts; }
  Task<> host_copy(std::uint64_t bytes) override { return copy_for(group_.context(), config_.host_bytes_per_s, bytes); }

  const KvLayout& kv_layout() const noexcept override { return config_.layout; }
  std::uint32_t vocab_size() const noexcept override { return 1; }
  std::uint32_t context_length() const noexcept override { return config_.context_length; }

 private:
  StepGroup& group_;
  std::uint32_t member_;
  CostEngineConfig config_;
  EngineAccount& account_;
};

}  // namespace baton::sim
