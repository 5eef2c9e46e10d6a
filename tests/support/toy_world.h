// A whole node in virtual time, and clients that talk to its router: what the role tests live in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "roles/node.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "sim/toy_engine.h"
#include "tests/support/run.h"

namespace baton::test {

// What became of one request.
struct Outcome {
  std::vector<TokenId> tokens;
  FinishEvent finish;
  std::size_t finishes = 0;  // must be one
  TimePoint first_token{};
  TimePoint ended{};
  bool ok() const { return finishes == 1 && !finish.failure; }
  Errc code() const { return finish.failure ? finish.failure->code : Errc::internal; }
};

inline NodeConfig small_node(std::uint32_t prefill = 1, std::uint32_t decode = 1) {
  NodeConfig config;
  config.prefill_ranks = prefill;
  config.decode_ranks = decode;
  config.decode_pages = 256;
  config.prefill_pages = 256;
  config.poison = true;
  config.model_hash = 7;
  config.prefill.step.step_tokens = 64;
  config.router.time_limit = std::chrono::seconds(60);
  return config;
}

// A node in virtual time on engines of any kind.
class SimWorld {
 public:
  using MakeEngine = std::function<std::unique_ptr<Engine>(Context&)>;
  using Decorate = std::function<Endpoint&(Context&, Endpoint&)>;
  using DecorateLink = std::function<ControlLink&(RankId, ControlLink&)>;

  SimWorld(NodeConfig config, MakeEngine make_engine, Decorate decorate = {}, DecorateLink decorate_link = {})
      : scope_(context, "world") {
    NodeWorld world{context,
                    [this](RankId) -> Context& { return context; },
                    [this, make_engine](RankId rank) -> Engine& {
                      auto& slot = engines_[rank];
                      if (!slot) {
                        slot = make_engine(context);
                      }
                      return *slot;
                    },
                    metrics,
                    std::move(decorate),
                    std::move(decorate_link)};
    node = std::make_unique<Node>(std::move(world), std::move(config), TextRules{});
  }

  // Runs the node and a client's task on it; then stops the node, lets everything drain, and demands that nothing is
  // left. Throws on deadlock with the report.
  void run(Task<> client) {
    test::run(context, live(std::move(client)));
    scope_.rethrow_error();
  }

  // Takes events until the end.
  Task<Outcome> collect(std::unique_ptr<Generation> generation) {
    Outcome outcome;
    for (;;) {
      std::optional<GenerationEvent> event = co_await generation->next();
      if (!event) {
        break;
      }
      if (auto* token = std::get_if<TokenEvent>(&*event)) {
        if (outcome.tokens.empty()) {
          outcome.first_token = context.now();
        }
        outcome.tokens.push_back(token->token.id);
      } else {
        outcome.finish = std::get<FinishEvent>(*event);
        ++outcome.finishes;
        outcome.ended = context.now();
      }
    }
    co_return outcome;
  }

  Task<Outcome> ask(GenerationRequest request) {
    Task<Outcome> pending = collect(node->router().start(std::move(request)));
    co_return co_await std::move(pending);
  }

  SimContext context;
  MetricsRegistry metrics;
  std::unique_ptr<Node> node;
  bool drained_after_run = false;
  std::string history;  // of the ranks, if the configuration keeps one

 private:
  Task<> live(Task<> client) {
    scope_.spawn("router", node->run_front());
    for (const RankId rank : node->ranks()) {
      scope_.spawn(to_string(rank), node->run_rank(rank));
    }
    node->router().open_for_work();
    co_await std::move(client);
    co_await node->router().drain(add_saturating(context.now(), std::chrono::seconds(600)));
    node->stop_ranks();
    node->router().stop();
    co_await scope_.join();
    drained_after_run = node->drained();
    history = trace_text(node->trace());
  }

  std::map<RankId, std::unique_ptr<Engine>> engines_;
  Scope scope_;
};

// The same on toy engines, which know what every request must give.
class ToyWorld : public SimWorld {
 public:
  explicit ToyWorld(NodeConfig config, ToyEngineConfig engine = {}, Decorate decorate = {},
                    DecorateLink decorate_link = {})
      : SimWorld(
            std::move(config), [engine](Context& where) { return std::make_unique<ToyEngine>(where, engine); },
            std::move(decorate), std::move(decorate_link)),
        vocab_(engine.vocab) {}

  // A greedy request whose reference output is known.
  GenerationRequest request(std::uint32_t prompt_tokens, std::uint32_t max_tokens, std::uint64_t seed = 1) const {
    GenerationRequest result;
    Random random(seed * 7919 + prompt_tokens);
    std::vector<TokenId> prompt;
    for (std::uint32_t i = 0; i < prompt_tokens; ++i) {
      prompt.push_back(static_cast<TokenId>(random.uniform(vocab_)));
    }
    result.prompt = std::move(prompt);
    result.stop.max_tokens = max_tokens;
    result.sampling.seed = seed;
    return result;
  }

  std::vector<TokenId> reference(const GenerationRequest& request) const {
    return ToyEngine::reference(request.prompt, request.stop.max_tokens, vocab_, request.sampling.seed);
  }

 private:
  std::uint32_t vocab_;
};

// Runs the requests at once and returns what became of them, in order.
inline std::vector<Outcome> run_all(SimWorld& world, const std::vector<GenerationRequest>& requests) {
  std::vector<Outcome> outcomes(requests.size());
  const auto client = [&](std::size_t i) -> Task<> { outcomes[i] = co_await world.ask(requests[i]); };
  const auto all = [&]() -> Task<> {
    Scope scope(world.context, "clients");
    for (std::size_t i = 0; i < requests.size(); ++i) {
      scope.spawn("client", client(i));
    }
    co_await scope.join();
  };
  world.run(all());
  return outcomes;
}

}  // namespace baton::test
