#include "sim/cluster/cost_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/pulse.h"
#include "runtime/sleep.h"

namespace baton::sim {
namespace {

// Rounds planned at a time: few at first, since most steps of rounds are cut early, more while they are not.
constexpr std::uint32_t kFirstPlan = 16;
constexpr std::uint32_t kLargestPlan = 256;

}  // namespace

StepLoad load_of(const StepBatch& batch, std::uint32_t drafts) {
  StepLoad load;
  for (const StepSequence& sequence : batch.sequences) {
    const auto rows = static_cast<std::uint32_t>(sequence.tokens.size());
    const std::size_t tokens = sequence.history.prompt.size() + sequence.history.output.size();
    if (sequence.history.output.empty() || sequence.position + 1 < tokens) {
      load.add_prefill(rows, sequence.position, sequence.sampling != nullptr);
    } else {
      load.add_decode(sequence.position + rows + drafts, rows + drafts);
    }
  }
  return load;
}

void tell(const CostEngineConfig& config, TimePoint began, TimePoint ended, std::uint64_t tokens) {
  if (config.listener != nullptr && *config.listener) {
    (*config.listener)(config.rank, {began, ended - began, tokens});
  }
}

std::uint32_t drafts_held(const Speculation& speculation, double draw) noexcept {
  double chance = 1;  // that all so far hold
  std::uint32_t held = 0;
  for (const double next : speculation.acceptance) {
    chance *= next;
    if (draw >= chance) {
      break;
    }
    ++held;
  }
  return held;
}

StepOutput sampled_where_asked(const StepBatch& batch, const Speculation& speculation) {
  StepOutput output;
  output.sampled.resize(batch.sequences.size());
  output.more.resize(speculation.drafts > 0 ? batch.sequences.size() : 0);
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const StepSequence& sequence = batch.sequences[i];
    if (sequence.sampling == nullptr) {
      continue;
    }
    output.sampled[i].emplace();
    if (speculation.drafts > 0 && !sequence.history.output.empty()) {
      output.more[i].resize(drafts_held(speculation, uniform_at(sequence.sampling->seed, sequence.position)));
    }
  }
  return output;
}

Task<> copy_for(Context& context, double bytes_per_s, std::uint64_t bytes) {
  if (bytes_per_s > 0) {
    const double ns = 1e9 * static_cast<double>(bytes) / bytes_per_s;
    co_await sleep_until(context, context.now() + Duration(std::llround(ns)), kStepPriority);
  }
}

Task<StepOutput> CostEngine::step(StepBatch batch) {
  const StepLoad load = load_of(batch, config_.speculation.drafts);
  account_.in_step = static_cast<std::uint32_t>(batch.sequences.size());
  if (batch.rounds != nullptr) {
    co_await run_rounds(load, *batch.rounds, batch.sequences.size());
    co_return StepOutput();
  }
  const StepCost cost = model_.cost(load);
  account_.add(load, cost);
  const TimePoint begin = std::max(context_.now(), free_.front());
  co_await sleep_until(context_, pass_stages(begin, cost), kStepPriority);
  account_.in_step = 0;
  tell(config_, begin, context_.now(), load.tokens());
  co_return sampled_where_asked(batch, config_.speculation);
}

// Returns the step's end. The later stages share what the first leaves of it, and each takes one step at a time: a
// short step waits behind a long one that is still there.
TimePoint CostEngine::pass_stages(TimePoint begin, const StepCost& cost) {
  TimePoint at = free_.front() = begin + cost.stage;
  Duration left = cost.total - cost.stage;
  for (std::size_t stage = 1; stage < free_.size(); ++stage) {
    const Duration share = left / static_cast<std::int64_t>(free_.size() - stage);
    left -= share;
    at = free_[stage] = std::max(at, free_[stage]) + share;
  }
  return at + left;
}

Task<> CostEngine::can_begin() {
  co_await sleep_until(context_, free_.front(), kStepPriority);
}

// Plans a block of rounds and sleeps until its end, block after block; a cut shortens the last one.
Task<> CostEngine::run_rounds(StepLoad load, Rounds& rounds, std::size_t sequences) {
  Pulse cut(context_, "rounds");
  rounds.on_cut([&cut] { cut.notify(); });
  const TimePoint began = context_.now();
  TimePoint end = began;
  std::vector<StepCost> costs;
  for (std::uint32_t size = kFirstPlan; rounds.planned() < rounds.most(); size = std::min(2 * size, kLargestPlan)) {
    const std::uint32_t before = rounds.planned();
    costs.resize(std::min(size, rounds.most() - before));
    plan(load, costs, end, rounds, sequences);
    do {
      end = rounds.ends().back();
      co_await cut.wait_until(end, kStepPriority);
    } while (end != rounds.ends().back());
    for (std::uint32_t i = 0; i < rounds.planned() - before; ++i) {
      account_.add(load, costs[i]);
      load.grow_decode();
    }
  }
  account_.in_step = 0;
  tell(config_, began, context_.now(), std::uint64_t{rounds.planned()} * sequences);
}

void CostEngine::plan(const StepLoad& load, std::span<StepCost> costs, TimePoint begin, Rounds& rounds,
                      std::size_t sequences) {
  model_.round_costs(load, costs);
  ends_.clear();
  for (const StepCost& cost : costs) {
    begin += cost.total;
    ends_.push_back(begin);
  }
  const std::size_t tokens = sequences * costs.size();
  zeros_.resize(std::max(zeros_.size(), tokens));
  rounds.plan(ends_, std::span(zeros_).first(tokens));
}

}  // namespace baton::sim
