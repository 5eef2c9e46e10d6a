// Equality under faults: with real weights and kernels in virtual time, whatever happens to messages, writes, ranks and
// clients, no request is given a token that one aggregated rank, alone with it, would not have given.
//
// The World's clients compare token by token, so a request that fails half-way is held to it as well.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/engine/cpu_engine.h"
#include "sim/chaos/profile.h"
#include "sim/chaos/run.h"
#include "sim/chaos/world.h"
#include "sim/timed_engine.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::chaos;
using baton::test::Outcome;
using baton::test::SimWorld;

namespace {

constexpr std::uint32_t kContext = 256;  // positions; above what any drawn scenario asks for
constexpr std::uint32_t kQuietPage = 16;

class TinyModel final {
 public:
  explicit TinyModel(const std::string& path) {
    WeightsOptions options;
    options.pool = &pool_;
    options.context_length = kContext;
    weights_ = Weights::load(ModelSource::open(path), options);
  }

  SimWorld::MakeEngine engines(std::uint32_t page_tokens) {
    return [this, page_tokens](Context& context) {
      CpuEngineOptions options;
      options.page_tokens = page_tokens;
      return std::make_unique<TimedEngine>(context, std::make_unique<CpuEngine>(pool_, weights_, options), StepCost{});
    };
  }

  // One rank that does both, with nobody else on it and nothing going wrong.
  Outcome alone(const GenerationRequest& request) {
    NodeConfig config = test::small_node();
    config.aggregated = true;
    config.decode_pages = kContext / kQuietPage;
    config.decode.step.step_tokens = kContext;
    SimWorld world(config, engines(kQuietPage));
    return run_all(world, {request}).front();
  }

  // The same model for a scenario: pages of its size, and sampling settings of all kinds.
  WorldModel in_world(const Scenario& scenario) {
    WorldModel model;
    model.engine = engines(scenario.page_tokens);
    model.reference = [this](const GenerationRequest& request) {
      GenerationRequest quiet = request;
      quiet.time_limit = Duration{0};
      return alone(quiet).tokens;
    };
    model.vocab = vocab();
    model.adorn = [](std::uint32_t client, GenerationRequest& request) { adorn(client, request.sampling); };
    return model;
  }

  std::uint32_t vocab() const { return weights_->shape().vocab; }

  static void adorn(std::uint32_t client, SamplingParams& sampling) {
    sampling.temperature = client % 2 == 0 ? 0.0F : 0.9F;
    sampling.top_p = client % 4 == 1 ? 0.8F : 1.0F;
    sampling.top_k = client % 8 == 3 ? 20 : 0;
    sampling.min_p = client % 16 == 7 ? 0.02F : 0.0F;
    sampling.repetition_penalty = client % 6 == 5 ? 1.2F : 1.0F;
    sampling.presence_penalty = client % 5 == 4 ? 0.5F : 0.0F;
    sampling.frequency_penalty = client % 7 == 6 ? 0.3F : 0.0F;
    sampling.seed = 77 * client + 1;
  }

 private:
  kernels::ComputePool pool_{1};
  std::shared_ptr<const Weights> weights_;
};

struct Seen {
  std::uint32_t finished = 0;
  std::uint32_t failed = 0;
  std::uint64_t faults = 0;
};

Seen explore(TinyModel& model, const char* profile, std::uint64_t first, std::uint64_t seeds) {
  Seen seen;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Scenario scenario = draw_scenario(find_profile(profile).value(), seed);
    const WorldModel world_model = model.in_world(scenario);
    RunOptions options;
    options.model = &world_model;
    const RunReport report = run_scenario(scenario, options);
    CAPTURE(seed);
    INFO(std::string(profile));
    CHECK_MESSAGE(!report.violation, report.violation->rule << ": " << report.violation->message);
    seen.finished += report.finished;
    seen.failed += report.failed;
    seen.faults += report.injected.size();
  }
  return seen;
}

GenerationRequest request_for(const TinyModel& model, std::uint32_t index, std::uint32_t prompt_tokens,
                              std::uint32_t max_tokens) {
  GenerationRequest request;
  Random random(index * 7919 + prompt_tokens);
  std::vector<TokenId> prompt;
  for (std::uint32_t i = 0; i < prompt_tokens; ++i) {
    prompt.push_back(static_cast<TokenId>(random.uniform(model.vocab())));
  }
  request.prompt = std::move(prompt);
  request.stop.max_tokens = max_tokens;
  TinyModel::adorn(index, request.sampling);
  return request;
}

// Every token with all that the engine said of it.
Task<> take_tokens(SimWorld& world, GenerationRequest request, std::vector<SampledToken>& tokens) {
  const std::unique_ptr<Generation> generation = world.node->router().start(std::move(request));
  while (std::optional<GenerationEvent> event = co_await generation->next()) {
    if (auto* token = std::get_if<TokenEvent>(&*event)) {
      tokens.push_back(token->token);
    }
  }
}

std::vector<SampledToken> tokens_of(TinyModel& model, NodeConfig config, const GenerationRequest& request) {
  SimWorld world(std::move(config), model.engines(kQuietPage));
  std::vector<SampledToken> tokens;
  world.run(take_tokens(world, request, tokens));
  return tokens;
}

NodeConfig lone_node() {
  NodeConfig config = test::small_node();
  config.aggregated = true;
  return config;
}

// Prefill and decode apart, memory copied, the prompt in several chunks.
NodeConfig split_node() {
  NodeConfig config = test::small_node(2, 2);
  config.copying = true;
  config.prefill.step.step_tokens = 16;
  return config;
}

}  // namespace

TEST_CASE("Equality under faults: no token differs from the aggregated run's, in every profile (tiny llama)") {
  TinyModel model("tests/data/models/tiny-chat.gguf");
  for (const Profile& profile : profiles()) {
    const Seen seen = explore(model, profile.name, 1, 20);
    INFO(std::string(profile.name));
    CHECK(seen.finished > 0);
    CHECK((seen.faults > 0) == (std::string_view(profile.name) != "calm"));
  }
}

TEST_CASE("Equality under faults: the same with query and key norms (tiny qwen3)") {
  TinyModel model("tests/data/models/tiny-qwen3.gguf");
  const Seen seen = explore(model, "all", 100, 20);
  CHECK(seen.finished > 0);
  CHECK(seen.faults > 0);
}

TEST_CASE("Equality under faults: a run with a real model repeats itself to the byte") {
  TinyModel model("tests/data/models/tiny-chat.gguf");
  const Scenario scenario = draw_scenario(find_profile("all").value(), 11);
  const WorldModel world_model = model.in_world(scenario);
  RunOptions options;
  options.model = &world_model;
  const RunReport once = run_scenario(scenario, options);
  const RunReport again = run_scenario(scenario, options);
  CHECK(once.digest == again.digest);
  CHECK(once.events == again.events);
}

// TensorRT-LLM#11727: the first token's log-probability was lost on the way from prefill to decode. The HTTP side of it
// (offsets, chat and completion forms) is tests/roles/http/api_response_test.cc.
TEST_CASE("P17: log-probabilities come with every token, the first one too, and are the aggregated run's") {
  TinyModel model("tests/data/models/tiny-chat.gguf");
  for (std::uint32_t i = 0; i < 8; ++i) {
    GenerationRequest request = request_for(model, i, 5 + 13 * i, 1 + 2 * i);
    request.sampling.logprobs = true;
    request.sampling.top_logprobs = i % 4;
    const std::vector<SampledToken> split = tokens_of(model, split_node(), request);
    CAPTURE(i);
    CHECK(split == tokens_of(model, lone_node(), request));
    REQUIRE(split.size() == request.stop.max_tokens);
    for (const SampledToken& token : split) {
      CHECK(token.logprob < 0);
      CHECK(token.top.size() == i % 4);
    }
  }
}

// unified-cache-management#1295: min_tokens reached the prefill leg, which makes one token, and was refused there.
TEST_CASE("Q5: min_tokens holds from the first token on, which another rank draws") {
  TinyModel model("tests/data/models/tiny-chat.gguf");
  for (std::uint32_t i = 0; i < 8; ++i) {
    GenerationRequest request = request_for(model, i, 10 + 9 * i, 12);
    const std::vector<TokenId> free = model.alone(request).tokens;
    request.stop.stop_token_ids = {free[0], free[1], free[2]};
    CAPTURE(i);
    CHECK(tokens_of(model, split_node(), request).empty());  // without min_tokens the first one is the end
    request.stop.min_tokens = 5;
    const std::vector<SampledToken> split = tokens_of(model, split_node(), request);
    CHECK(split == tokens_of(model, lone_node(), request));
    CHECK(split.size() >= 5);
    for (const SampledToken& token : split) {
      CHECK(std::ranges::count(request.stop.stop_token_ids, token.id) == 0);
    }
  }
}
