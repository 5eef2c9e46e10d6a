#include "roles/run_step.h"

#include "runtime/mutants.h"

namespace baton {

Task<StepResult> run_step(Engine& engine, StepBatch batch, RankId rank) {
  const std::size_t sequences = batch.sequences.size();
  std::optional<Failure> failure;
  try {
    Task<StepOutput> pending = engine.step(std::move(batch));
    StepOutput output = co_await std::move(pending);
    co_return StepResult(std::move(output));
  } catch (const Error& error) {
    failure.emplace(Errc::internal, to_string(rank), error.what());
  }
  if (mutant(Mutant::failed_step_counts)) {
    StepOutput nothing;
    nothing.sampled.assign(sequences, SampledToken());
    co_return StepResult(std::move(nothing));
  }
  co_return StepResult(std::move(*failure));
}

Failure no_token(RankId rank) {
  return Failure(Errc::internal, to_string(rank),
                 "no token can be drawn: all are banned, or the logits are not numbers");
}

}  // namespace baton
