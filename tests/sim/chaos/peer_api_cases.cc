// Cases of what a request asks for beside tokens and the split may forget. With a real model the same is asked in
// tiny_model_test.cc.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/chaos/named_case.h"
#include "tests/support/toy_world.h"

namespace baton::chaos {
namespace {

// A toy engine that says of every token how likely it was.
class Outspoken final : public Engine {
 public:
  explicit Outspoken(Context& context) : toy_(context, ToyEngineConfig{}) {}

  Task<StepOutput> step(StepBatch batch) override {
    Task<StepOutput> pending = toy_.step(std::move(batch));
    StepOutput output = co_await std::move(pending);
    for (std::optional<SampledToken>& token : output.sampled) {
      if (token) {
        token->logprob = -1.0F - static_cast<float>(token->id);
        token->top.emplace_back(token->id, token->logprob);
      }
    }
    co_return output;
  }

  const KvLayout& kv_layout() const noexcept override { return toy_.kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return toy_.vocab_size(); }
  std::uint32_t context_length() const noexcept override { return toy_.context_length(); }

 private:
  ToyEngine toy_;
};

NodeConfig node(bool split) {
  NodeConfig config = test::small_node(split ? 2 : 1, split ? 2 : 1);
  config.aggregated = !split;
  config.copying = split;
  config.prefill.step.step_tokens = 16;
  return config;
}

GenerationRequest request_for(std::uint32_t prompt_tokens, std::uint32_t max_tokens) {
  GenerationRequest request;
  std::vector<TokenId> prompt;
  Random random(prompt_tokens);
  for (std::uint32_t i = 0; i < prompt_tokens; ++i) {
    prompt.push_back(static_cast<TokenId>(random.uniform(ToyEngineConfig{}.vocab)));
  }
  request.prompt = std::move(prompt);
  request.stop.max_tokens = max_tokens;
  return request;
}

Task<> take_tokens(test::SimWorld& world, GenerationRequest request, std::vector<SampledToken>& tokens) {
  const std::unique_ptr<Generation> generation = world.node->router().start(std::move(request));
  while (std::optional<GenerationEvent> event = co_await generation->next()) {
    if (auto* token = std::get_if<TokenEvent>(&*event)) {
      tokens.push_back(token->token);
    }
  }
}

// Every token with all that was said of it, of ranks apart or of one that does both.
std::vector<SampledToken> tokens_of(bool split, const GenerationRequest& request) {
  test::SimWorld world(node(split), [](Context& context) { return std::make_unique<Outspoken>(context); });
  std::vector<SampledToken> tokens;
  world.run(take_tokens(world, request, tokens));
  return tokens;
}

void first_token_is_as_likely() {
  for (std::uint32_t i = 0; i < 6; ++i) {
    const GenerationRequest request = request_for(5 + 13 * i, 1 + 2 * i);
    const std::vector<SampledToken> tokens = tokens_of(true, request);
    expect(tokens.size() == request.stop.max_tokens, "all tokens come");
    for (const SampledToken& token : tokens) {
      expect(token.logprob < 0 && token.top.size() == 1, "each with its log-probability and the likeliest ones");
    }
    expect(tokens == tokens_of(false, request), "as from one rank that does both");
  }
}

// All tokens of the free run are made stop tokens: without min_tokens the first is the end.
void min_tokens_holds_from_the_first() {
  for (std::uint32_t i = 0; i < 6; ++i) {
    GenerationRequest request = request_for(10 + 9 * i, 12);
    for (const SampledToken& token : tokens_of(false, request)) {
      request.stop.stop_token_ids.push_back(token.id);
    }
    expect(tokens_of(true, request).empty(), "a stop token ends the text");
    request.stop.min_tokens = 5;
    const std::vector<SampledToken> tokens = tokens_of(true, request);
    expect(tokens.size() >= 5, "and may not before it has so many");
    expect(tokens == tokens_of(false, request), "as from one rank that does both");
  }
}

}  // namespace

std::vector<NamedCase> peer_api_cases() {
  return {
      {"P17: log-probabilities come with every token, the first one too", "TensorRT-LLM#11727",
       first_token_is_as_likely},
      {"Q5: min_tokens holds from the first token on, which another rank draws", "unified-cache-management#1295",
       min_tokens_holds_from_the_first},
  };
}

}  // namespace baton::chaos
