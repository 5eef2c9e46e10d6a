// The node on real threads: what the thread sanitizer shall see.
#include "roles/local_node.h"

#include <doctest/doctest.h>

#include "model/engine/cpu_engine.h"
#include "runtime/scope.h"
#include "tests/support/run.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

Task<> take_all(std::unique_ptr<Generation> generation, Outcome& outcome, std::size_t give_up_after) {
  while (std::optional<GenerationEvent> event = co_await generation->next()) {
    if (auto* token = std::get_if<TokenEvent>(&*event)) {
      outcome.tokens.push_back(token->token.id);
      if (outcome.tokens.size() == give_up_after) {
        co_return;
      }
    } else {
      outcome.finish = std::get<FinishEvent>(*event);
      ++outcome.finishes;
    }
  }
}

}  // namespace

TEST_CASE("LocalNode: ranks on threads of their own serve, forget who leaves, and end with nothing held") {
  for (const bool copying : {false, true}) {
    kernels::ComputePool pool(2);
    WeightsOptions options;
    options.pool = &pool;
    const auto weights = Weights::load(ModelSource::open("tests/data/models/tiny-chat.gguf"), options);
    NodeConfig config = small_node(2, 2);
    config.copying = copying;
    config.model_hash = weights->model_hash();
    config.decode_pages = 60;
    config.decode.admission.lookahead_tokens = 0;
    RealContext front;
    MetricsRegistry metrics;
    LocalNode node(
        front, [&](RankId) { return std::make_unique<CpuEngine>(pool, weights, CpuEngineOptions{}); }, config, {},
        metrics);
    std::vector<Outcome> outcomes(60);
    const auto client = [&]() -> Task<> {
      Scope router(front, "router");
      router.spawn("run", node.node().run_front());
      const auto rest = [&]() -> Task<> {
        Scope clients(front, "clients");
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
          GenerationRequest request;
          request.prompt = std::vector<TokenId>(1 + i * 3, static_cast<TokenId>(40 + i));
          request.stop.max_tokens = 5 + static_cast<std::uint32_t>(i % 30);
          request.sampling.temperature = 0;
          const std::size_t patience = i % 3 == 0 ? 1 + i % 4 : 1000;
          clients.spawn("client", take_all(node.router().start(std::move(request)), outcomes[i], patience));
        }
        co_await clients.join();
        node.router().stop();
      };
      router.spawn("rest", rest());
      co_await router.join();
    };
    node.start([](std::exception_ptr) { FAIL("a rank failed"); });
    test::run(front, client());
    node.stop();
    node.join();
    CHECK(node.node().drained());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      CAPTURE(i);
      if (i % 3 != 0) {
        CHECK(outcomes[i].ok());
        CHECK(outcomes[i].tokens.size() == 5 + i % 30);
      }
    }
  }
}
