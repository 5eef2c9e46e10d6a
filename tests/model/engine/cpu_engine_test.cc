// CpuEngine: steps through the coroutine seam.
#include "model/engine/cpu_engine.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/errors.h"
#include "runtime/scope.h"
#include "sim/sim_context.h"
#include "tests/model/engine/forward_fixture.h"
#include "tests/support/run.h"

namespace baton::test {
namespace {

constexpr const char* kModel = "tests/data/models/tiny-llama-mixed.gguf";

std::shared_ptr<const Weights> load(kernels::ComputePool& pool, std::uint32_t context_length = 0) {
  WeightsOptions options;
  options.pool = &pool;
  options.context_length = context_length;
  return Weights::load(ModelSource::open(kModel), options);
}

// A request that generates tokens as a rank would: the prompt in chunks, then one token a step.
struct Request {
  Request(TestArena& arena_in, std::vector<TokenId> prompt_in, SamplingParams params_in)
      : arena(arena_in), prompt(std::move(prompt_in)), params(std::move(params_in)) {
    while (pages.size() < arena.layout().pages_for(prompt.size() + 32)) {
      pages.push_back(arena.take());
    }
  }

  StepSequence sequence(std::span<const TokenId> tokens, std::uint32_t position, bool sampled) const {
    return {tokens, position, arena.base(), pages, sampled ? &params : nullptr, {prompt, output}, {}};
  }

  TestArena& arena;
  std::vector<TokenId> prompt;
  SamplingParams params;
  std::vector<PageId> pages;
  std::vector<TokenId> output;
};

Task<> generate(CpuEngine& engine, Request& request, std::size_t chunk, std::size_t tokens) {
  const std::span<const TokenId> prompt = request.prompt;
  for (std::size_t first = 0; first < prompt.size(); first += chunk) {
    const std::size_t count = std::min(chunk, prompt.size() - first);
    const bool last = first + count == prompt.size();
    StepBatch batch;
    batch.sequences.push_back(request.sequence(prompt.subspan(first, count), static_cast<std::uint32_t>(first), last));
    const StepOutput output = co_await engine.step(std::move(batch));
    CHECK(output.sampled.at(0).has_value() == last);
    if (last) {
      request.output.push_back(output.sampled[0].value().id);
    }
  }
  while (request.output.size() < tokens) {
    const std::vector<TokenId> next = {request.output.back()};
    const auto position = static_cast<std::uint32_t>(prompt.size() + request.output.size() - 1);
    StepBatch batch;
    batch.urgent = true;
    batch.sequences.push_back(request.sequence(next, position, true));
    const StepOutput output = co_await engine.step(std::move(batch));
    request.output.push_back(output.sampled.at(0).value().id);
  }
}

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0.0F;
  return params;
}

SamplingParams seeded(std::uint64_t seed) {
  SamplingParams params;
  params.temperature = 0.9F;
  params.top_p = 0.95F;
  params.seed = seed;
  return params;
}

Errc code_of_step(CpuEngine& engine, StepSequence sequence) {
  SimContext context;
  StepBatch batch;
  batch.sequences.push_back(sequence);
  try {
    (void)run(context, engine.step(std::move(batch)));
  } catch (const Error& error) {
    return error.errc();
  }
  return Errc{};
}

TEST_CASE("CpuEngine: the token of a step is the one the logits of the forward pass give") {
  kernels::ComputePool pool(2);
  const auto weights = load(pool);
  CpuEngine engine(pool, weights, CpuEngineOptions());
  TestArena arena(engine.kv_layout(), 1000, 1);
  Request request(arena, random_tokens(21, engine.vocab_size(), 5), greedy());
  TestSequence direct(arena, request.prompt);
  const Logits logits = advance(pool, *weights, {{&direct, 21}}).at(0);
  SimContext context;
  run(context, generate(engine, request, 100, 1));
  CHECK(request.output.at(0) == std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST_CASE("CpuEngine: greedy and seeded texts do not depend on chunks or on who computes beside") {
  kernels::ComputePool pool(2);
  const auto weights = load(pool);
  CpuEngineOptions small_pages;
  small_pages.page_tokens = 1;
  CpuEngine engine(pool, weights, CpuEngineOptions());
  CpuEngine other(pool, weights, small_pages);
  TestArena arena(engine.kv_layout(), 4000, 1);
  TestArena other_arena(other.kv_layout(), 4000, 2);
  const std::vector<TokenId> prompts[] = {random_tokens(33, engine.vocab_size(), 1),
                                          random_tokens(60, engine.vocab_size(), 2)};
  for (const std::vector<TokenId>& prompt : prompts) {
    for (const SamplingParams& params : {greedy(), seeded(7), seeded(8)}) {
      Request alone(arena, prompt, params);
      SimContext context;
      run(context, generate(engine, alone, 1000, 20));

      Request chunked(arena, prompt, params);
      Request beside(other_arena, prompt, params);
      Scope scope(context, "ranks");
      scope.spawn("chunked", generate(engine, chunked, 7, 20));
      scope.spawn("beside", generate(other, beside, 16, 20));
      run(context, scope.join());
      CHECK(chunked.output == alone.output);
      CHECK(beside.output == alone.output);
    }
  }
}

Task<StepOutput> step_of(CpuEngine& engine, const std::vector<StepSequence>& sequences) {
  StepBatch batch;
  batch.sequences = sequences;
  return engine.step(std::move(batch));
}

TEST_CASE("CpuEngine: sampled tokens belong to their sequences, and chunks without sampling have none") {
  kernels::ComputePool pool(2);
  const auto weights = load(pool);
  CpuEngine engine(pool, weights, CpuEngineOptions());
  TestArena arena(engine.kv_layout(), 8000, 1);
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<TokenId> alone;
  SimContext context;
  for (std::uint32_t i = 0; i < 12; ++i) {
    Request request(arena, random_tokens(3 + 5 * i, engine.vocab_size(), i), greedy());
    run(context, generate(engine, request, 1000, 1));
    alone.push_back(request.output[0]);
    requests.push_back(std::make_unique<Request>(arena, request.prompt, greedy()));
  }
  std::vector<StepSequence> sequences;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    sequences.push_back(requests[i]->sequence(requests[i]->prompt, 0, i % 3 != 1));
  }
  const StepOutput output = run(context, step_of(engine, sequences));
  REQUIRE(output.sampled.size() == requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CHECK(output.sampled[i].has_value() == (i % 3 != 1));
    if (output.sampled[i].has_value()) {
      CHECK(output.sampled[i]->id == alone[i]);
    }
  }
}

TEST_CASE("CpuEngine: a sequence that may draw nothing fails alone") {
  kernels::ComputePool pool(1);
  const auto weights = load(pool);
  CpuEngine engine(pool, weights, CpuEngineOptions());
  TestArena arena(engine.kv_layout(), 1000, 1);
  Request stuck(arena, {1, 2, 3}, greedy());
  Request fine(arena, {4, 5, 6}, greedy());
  std::vector<TokenId> every(engine.vocab_size());
  for (std::size_t i = 0; i < every.size(); ++i) {
    every[i] = static_cast<TokenId>(i);
  }
  std::vector<StepSequence> sequences = {stuck.sequence(stuck.prompt, 0, true), fine.sequence(fine.prompt, 0, true)};
  sequences[0].banned = every;
  SimContext context;
  const StepOutput output = run(context, step_of(engine, sequences));
  CHECK(!output.sampled.at(0).has_value());
  CHECK(output.sampled.at(1).has_value());
}

TEST_CASE("CpuEngine: tokens outside the vocabulary, positions past the context and oversized steps are refused") {
  kernels::ComputePool pool(1);
  const auto weights = load(pool, 64);
  CpuEngineOptions options;
  options.rows_max = 48;
  CpuEngine engine(pool, weights, options);
  CHECK(engine.context_length() == 64);
  TestArena arena(engine.kv_layout(), 1000, 1);
  Request request(arena, random_tokens(48, engine.vocab_size(), 1), greedy());
  CHECK(code_of_step(engine, request.sequence(request.prompt, 0, true)) == Errc{});
  CHECK(code_of_step(engine, request.sequence(request.prompt, 17, true)) == Errc::invalid_argument);
  for (const TokenId bad : {-1, static_cast<TokenId>(engine.vocab_size()), 1 << 30}) {
    const std::vector<TokenId> tokens = {bad};
    CHECK(code_of_step(engine, request.sequence(tokens, 0, true)) == Errc::invalid_argument);
  }
  Request longer(arena, random_tokens(49, engine.vocab_size(), 1), greedy());
  CHECK(code_of_step(engine, longer.sequence(longer.prompt, 0, true)) == Errc::invalid_argument);
}

TEST_CASE("CpuEngine: an empty batch completes at once") {
  kernels::ComputePool pool(1);
  CpuEngine engine(pool, load(pool), CpuEngineOptions());
  SimContext context;
  CHECK(run(context, step_of(engine, {})).sampled.empty());
}

TEST_CASE("CpuEngine: engines share one copy of the weights") {
  kernels::ComputePool pool(1);
  const auto weights = load(pool);
  const CpuEngine first(pool, weights, CpuEngineOptions());
  const CpuEngine second(pool, weights, CpuEngineOptions());
  CHECK(&first.weights() == &second.weights());
  CHECK(first.model_hash() == second.model_hash());
  CHECK(first.activation_bytes() > 0);
}

}  // namespace
}  // namespace baton::test
