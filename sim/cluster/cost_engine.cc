#include "sim/cluster/cost_engine.h"

#include <algorithm>
#include <utility>

#include "runtime/pulse.h"
#include "runtime/sleep.h"

namespace baton::sim {
namespace {

// Rounds planned at a time: few at first, since most steps of rounds are cut early, more while they are not.
constexpr std::uint32_t kFirstPlan = 16;
constexpr std::uint32_t kLargestPlan = 256;

}  // namespace

StepLoad load_of(const StepBatch& batch) {
  StepLoad load;
  for (const StepSequence& sequence : batch.sequences) {
    const auto rows = static_cast<std::uint32_t>(sequence.tokens.size());
    if (sequence.history.output.empty()) {
      load.add_prefill(rows, sequence.position, sequence.sampling != nullptr);
    } else {
      load.add_decode(sequence.position + rows, rows);
    }
  }
  return load;
}

void tell(const CostEngineConfig& config, TimePoint began, TimePoint ended, std::uint64_t tokens) {
  if (config.listener != nullptr && *config.listener) {
    (*config.listener)(config.rank, {began, ended - began, tokens});
  }
}

StepOutput sampled_where_asked(const StepBatch& batch) {
  StepOutput output;
  output.sampled.resize(batch.sequences.size());
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    if (batch.sequences[i].sampling != nullptr) {
      output.sampled[i].emplace();
    }
  }
  return output;
}

Task<StepOutput> CostEngine::step(StepBatch batch) {
  const StepLoad load = load_of(batch);
  account_.in_step = static_cast<std::uint32_t>(batch.sequences.size());
  if (batch.rounds != nullptr) {
    co_await run_rounds(load, *batch.rounds, batch.sequences.size());
    co_return StepOutput();
  }
  const StepCost cost = model_.cost(load);
  account_.add(load, cost);
  const TimePoint begin = std::max(context_.now(), free_);
  free_ = begin + cost.stage;
  co_await sleep_until(context_, begin + cost.total, kStepPriority);
  account_.in_step = 0;
  tell(config_, begin, context_.now(), load.tokens());
  co_return sampled_where_asked(batch);
}

Task<> CostEngine::run_rounds(StepLoad load, Rounds& rounds, std::size_t sequences) {
  Pulse cut(context_, "rounds");
  rounds.on_cut([&cut] { cut.notify(); });
  std::vector<StepCost> costs;  // of the planned rounds
  const std::vector<TokenId> tokens(sequences * kLargestPlan);
  std::vector<TimePoint> ends;
  StepLoad next = load;
  const TimePoint began = context_.now();
  for (std::uint32_t size = kFirstPlan;; size = std::min(2 * size, kLargestPlan)) {
    TimePoint end = rounds.taken() ? rounds.ends().back() : context_.now();
    ends.clear();
    for (std::uint32_t left = std::min(size, rounds.most() - rounds.planned()); left > 0; --left) {
      costs.push_back(model_.cost(next));
      next.grow_decode();
      end += costs.back().total;
      ends.push_back(end);
    }
    rounds.plan(ends, std::span(tokens).first(sequences * ends.size()));
    do {
      end = rounds.ends().back();
      co_await cut.wait_until(end, kStepPriority);
    } while (end != rounds.ends().back());
    if (rounds.planned() == rounds.most()) {
      break;
    }
  }
  for (std::uint32_t round = 0; round < rounds.planned(); ++round) {
    account_.add(load, costs[round]);
    load.grow_decode();
  }
  account_.in_step = 0;
  tell(config_, began, context_.now(), std::uint64_t{rounds.planned()} * sequences);
}

}  // namespace baton::sim
