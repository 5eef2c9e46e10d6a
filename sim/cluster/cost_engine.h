// An engine that computes nothing and takes the time that a cost model says: the simulator's side of the Engine seam.
//
// Tokens are all zero; how many drafts hold is drawn from the request's seed and the position alone. Steps queue up at
// each pipeline stage; a step of several rounds (Rounds) advances in one sleep, and is cut at the end of the round
// under way, so that its ends are those of single steps to the nanosecond.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/engine/engine.h"
#include "runtime/context.h"
#include "sim/cluster/engine_account.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/step_setup.h"

namespace baton::sim {

// Timers of one instant go off in this order: a step that ends now has ended for everybody else who wakes up now.
inline constexpr unsigned kStepPriority = 0;
inline constexpr unsigned kNetworkPriority = 1;
inline constexpr unsigned kArrivalPriority = 2;
inline constexpr unsigned kSamplePriority = 3;

// A step, or several rounds, of one rank.
struct StepSpan {
  TimePoint began{};
  Duration length{};
  std::uint64_t tokens = 0;  // rows computed
};
using StepListener = std::function<void(RankId, const StepSpan&)>;

struct CostEngineConfig {
  KvLayout layout;
  std::uint32_t context_length = 0;
  bool rounds = true;  // false: one step at a time, to compare
  RankId rank{};
  const StepListener* listener = nullptr;  // outlives the engine; null or empty: nobody
  Speculation speculation{};
  double host_bytes_per_s = 0;  // PoolPlan's
};

// The sequences of a batch as sums. A sequence with output is decoding, also where it computes several rows: those it
// has, and one for each draft. Where they begin before its last token it is computed once more, and costs what a prompt
// does.
StepLoad load_of(const StepBatch& batch, std::uint32_t drafts = 0);

void tell(const CostEngineConfig& config, TimePoint began, TimePoint ended, std::uint64_t tokens);

// How many drafts of a row hold, the first that does not ends it; `draw` in [0, 1).
std::uint32_t drafts_held(const Speculation& speculation, double draw) noexcept;

// Token zero for everybody who is to get one, and for each draft that holds.
StepOutput sampled_where_asked(const StepBatch& batch, const Speculation& speculation);

// Sleeps as long as the copy takes.
Task<> copy_for(Context& context, double bytes_per_s, std::uint64_t bytes);

class CostEngine final : public Engine {
 public:
  // The model and the account outlive the engine.
  CostEngine(Context& context, const CostModel& model, CostEngineConfig config, EngineAccount& account)
      : context_(context), model_(model), config_(config), account_(account), free_(model.stages()) {}

  Task<StepOutput> step(StepBatch batch) override;
  Task<> can_begin() override;
  bool takes_rounds() const noexcept override {
    return config_.rounds && model_.stages() == 1 && config_.speculation.drafts == 0;
  }
  std::uint32_t drafts() const noexcept override { return config_.speculation.drafts; }
  Task<> host_copy(std::uint64_t bytes) override { return copy_for(context_, config_.host_bytes_per_s, bytes); }

  const KvLayout& kv_layout() const noexcept override { return config_.layout; }
  std::uint32_t vocab_size() const noexcept override { return 1; }
  std::uint32_t context_length() const noexcept override { return config_.context_length; }

 private:
  TimePoint pass_stages(TimePoint begin, const StepCost& cost);
  Task<> run_rounds(StepLoad load, Rounds& rounds, std::size_t sequences);
  void plan(const StepLoad& load, std::span<StepCost> costs, TimePoint begin, Rounds& rounds, std::size_t sequences);

  Context& context_;
  const CostModel& model_;
  CostEngineConfig config_;
  EngineAccount& account_;
  std::vector<TimePoint> free_;  // when each stage can begin
  std::vector<TimePoint> ends_;  // of the rounds being planned
  std::vector<TokenId> zeros_;   // their tokens
};

}  // namespace baton::sim
