// PD gives what one rank alone would have given, token for token: real weights and kernels, any split, chunk and page
// size, any neighbours, with aborts and retractions around.
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "model/engine/cpu_engine.h"
#include "sim/timed_engine.h"
#include "tests/support/impatient.h"
#include "tests/support/pick.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Model {
  kernels::ComputePool pool{2};
  std::shared_ptr<const Weights> weights;

  explicit Model(const std::string& path) {
    WeightsOptions options;
    options.pool = &pool;
    options.context_length = 1024;
    weights = Weights::load(ModelSource::open(path), options);
  }

  SimWorld::MakeEngine engines(std::uint32_t page_tokens) {
    return [this, page_tokens](Context& context) {
      CpuEngineOptions options;
      options.page_tokens = page_tokens;
      return std::make_unique<TimedEngine>(context, std::make_unique<CpuEngine>(pool, weights, options), StepCost{});
    };
  }
};

// Greedy and seeded requests of many lengths, some with everything the sampler knows.
std::vector<GenerationRequest> requests_for(const Model& model, std::size_t count, std::uint32_t prompt_max,
                                            std::uint32_t output_max) {
  std::vector<GenerationRequest> requests;
  Pick pick(42);
  for (std::size_t i = 0; i < count; ++i) {
    GenerationRequest request;
    const std::uint32_t length = 1 + pick(prompt_max);
    std::vector<TokenId> prompt;
    for (std::uint32_t t = 0; t < length; ++t) {
      prompt.push_back(static_cast<TokenId>(pick(model.weights->shape().vocab)));
    }
    request.prompt = std::move(prompt);
    request.stop.max_tokens = 1 + pick(output_max);
    request.sampling.temperature = i % 2 == 0 ? 0.0F : 0.9F;
    request.sampling.top_p = i % 4 == 1 ? 0.8F : 1.0F;
    request.sampling.top_k = i % 8 == 3 ? 20 : 0;
    request.sampling.repetition_penalty = i % 6 == 5 ? 1.2F : 1.0F;
    request.sampling.presence_penalty = i % 5 == 4 ? 0.5F : 0.0F;
    request.sampling.seed = i;
    request.sampling.logprobs = true;
    request.sampling.top_logprobs = 3;
    requests.push_back(std::move(request));
  }
  return requests;
}

NodeConfig node_for(const Model& model, bool aggregated, std::uint32_t page, std::uint32_t chunk) {
  NodeConfig config = small_node();
  config.aggregated = aggregated;
  config.model_hash = model.weights->model_hash();
  config.decode_pages = config.prefill_pages = 8192 / page;
  config.prefill.step.step_tokens = chunk;
  config.decode.step.step_tokens = chunk;
  return config;
}

std::vector<std::vector<TokenId>> tokens_of(const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<TokenId>> tokens;
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.ok());
    tokens.push_back(outcome.tokens);
  }
  return tokens;
}

// The oracle: one aggregated rank, each request alone.
std::vector<std::vector<TokenId>> oracle(Model& model, const std::vector<GenerationRequest>& requests) {
  std::vector<std::vector<TokenId>> tokens;
  for (const GenerationRequest& request : requests) {
    SimWorld world(node_for(model, true, 16, 512), model.engines(16));
    tokens.push_back(tokens_of(run_all(world, {request})).front());
  }
  return tokens;
}

void check_all_splits(Model& model, const std::vector<GenerationRequest>& requests) {
  const auto expected = oracle(model, requests);
  for (const auto& [prefill, decode] : {std::pair{1U, 1U}, std::pair{2U, 2U}, std::pair{1U, 3U}}) {
    for (const std::uint32_t page : {1U, 16U, 64U}) {
      for (const std::uint32_t chunk : {16U, 64U, 512U}) {
        CAPTURE(prefill);
        CAPTURE(decode);
        CAPTURE(page);
        CAPTURE(chunk);
        NodeConfig config = node_for(model, false, page, chunk);
        config.prefill_ranks = prefill;
        config.decode_ranks = decode;
        config.copying = (page + chunk) % 3 == 0;
        SimWorld world(config, model.engines(page));
        CHECK(tokens_of(run_all(world, requests)) == expected);
        CHECK(world.drained_after_run);
      }
    }
  }
}

// Eight at a time: later ones meet what earlier ones left behind, and what they are computing.
std::vector<Outcome> run_in_waves(SimWorld& world, const std::vector<GenerationRequest>& requests) {
  std::vector<Outcome> outcomes(requests.size());
  const auto client = [&](std::size_t i) -> Task<> { outcomes[i] = co_await world.ask(requests[i]); };
  const auto waves = [&]() -> Task<> {
    for (std::size_t first = 0; first < requests.size(); first += 8) {
      Scope scope(world.context, "clients");
      for (std::size_t i = first; i < std::min(first + 8, requests.size()); ++i) {
        scope.spawn("client", client(i));
      }
      co_await scope.join();
    }
  };
  world.run(waves());
  return outcomes;
}

// Prompts in families that share beginnings of any length.
void check_with_cache(Model& model, std::vector<GenerationRequest> requests) {
  Pick pick(7);
  for (std::size_t i = 4; i < requests.size(); ++i) {
    const Prompt& stem = requests[i % 4].prompt;
    std::vector<TokenId> prompt(stem.begin(), stem.begin() + pick(stem.size() + 1));
    prompt.insert(prompt.end(), requests[i].prompt.begin(), requests[i].prompt.end());
    requests[i].prompt = std::move(prompt);
  }
  const auto expected = oracle(model, requests);
  for (const int mode : {0, 1, 2}) {  // prefill, aggregated and decode ranks have the cache
    for (const std::uint32_t page : {1U, 16U, 64U}) {
      for (const std::uint32_t chunk : {16U, 64U, 512U}) {
        CAPTURE(mode);
        CAPTURE(page);
        CAPTURE(chunk);
        NodeConfig config = node_for(model, mode == 1, page, chunk);
        config.copying = mode == 0;
        config.prefix_cache = true;
        config.decode_ranks = 1 + page % 2;
        SimWorld world(config, model.engines(page));
        const std::vector<Outcome> outcomes = run_in_waves(world, requests);
        CHECK(tokens_of(outcomes) == expected);
        CHECK(world.drained_after_run);
        std::uint32_t cached = 0;
        for (const Outcome& outcome : outcomes) {
          cached += outcome.finish.usage.cached_tokens;
        }
        CHECK((cached >= 64 || page == 64));
      }
    }
  }
}

// Some clients leave at random moments while a tight pool forces retractions; those who stay lose nothing.
void check_under_aborts(Model& model, const std::vector<GenerationRequest>& requests, bool aggregated) {
  const auto expected = oracle(model, requests);
  std::uint32_t retractions = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Pick pick(seed);
    NodeConfig config = node_for(model, aggregated, 16, 64);
    config.decode_ranks = 1 + pick(2);
    config.prefill_ranks = 1 + pick(2);
    config.copying = seed % 2 == 1;
    config.decode_pages = 40;
    config.decode.admission.lookahead_tokens = 0;
    config.decode.retract_every = 5;
    config.decode.retraction = seed >= 2 ? policy::Retraction::recompute : policy::Retraction::copy;
    SimWorld world(config, model.engines(16));
    std::vector<Outcome> outcomes(requests.size());
    std::vector<bool> stays;
    const auto client = [&]() -> Task<> {
      Scope scope(world.context, "clients");
      for (std::size_t i = 0; i < requests.size(); ++i) {
        stays.push_back(pick.chance(0.6));
        const Duration patience =
            stays[i] ? Duration(std::chrono::seconds(50)) : Duration(std::chrono::microseconds(pick(30'000)));
        const Duration delay = std::chrono::microseconds(pick(20'000));
        const bool by_destruction = !stays[i] && pick.chance(0.5);
        scope.spawn("client", impatient(world, requests[i], delay, patience, by_destruction, outcomes[i]));
      }
      co_await scope.join();
    };
    world.run(client());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CAPTURE(i);
      if (stays[i]) {
        CHECK(outcomes[i].ok());
        CHECK(outcomes[i].tokens == expected[i]);
        retractions += outcomes[i].finish.timeline.retractions;
      }
    }
    CHECK(world.drained_after_run);
  }
  CHECK(retractions > 0);
}

std::string default_model() {
  if (const char* named = std::getenv("BATON_MODEL")) {
    return named;
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string base = cache != nullptr ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  return base + "/baton/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace

TEST_CASE("Equality: PD equals aggregated for 56 prompts over all splits, chunks and pages (tiny llama)") {
  Model model("tests/data/models/tiny-chat.gguf");
  check_all_splits(model, requests_for(model, 56, 150, 16));
}

TEST_CASE("Equality: PD equals aggregated with query and key norms (tiny qwen3)") {
  Model model("tests/data/models/tiny-qwen3.gguf");
  check_all_splits(model, requests_for(model, 12, 150, 12));
}

TEST_CASE("Equality: what the prefix cache gives is what would have been computed") {
  Model model("tests/data/models/tiny-chat.gguf");
  check_with_cache(model, requests_for(model, 32, 100, 12));
}

TEST_CASE("Equality: aborts and retractions around change no token") {
  Model model("tests/data/models/tiny-chat.gguf");
  const auto requests = requests_for(model, 40, 120, 60);
  check_under_aborts(model, requests, false);
  check_under_aborts(model, requests, true);
}

TEST_CASE("Equality: PD equals aggregated on the default model") {
  const std::string path = default_model();
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no model at " << path << "; tools/fetch_model gets it");
    return;
  }
  Model model(path);
  const auto requests = requests_for(model, 8, 100, 8);
  const auto expected = oracle(model, requests);
  for (const std::uint32_t chunk : {16U, 512U}) {
    NodeConfig config = node_for(model, false, 16, chunk);
    config.prefill_ranks = 2;
    config.decode_ranks = 2;
    SimWorld world(config, model.engines(16));
    CHECK(tokens_of(run_all(world, requests)) == expected);
  }
}
