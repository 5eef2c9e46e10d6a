#include "sim/chaos/world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/random.h"
#include "runtime/sleep.h"
#include "sim/toy_engine.h"

namespace baton::chaos {
namespace {

constexpr std::uint64_t kEventsMax = 5'000'000;  // of the clock; who needs more runs for ever
constexpr std::uint64_t kLookEvery = 8;          // events between two looks at whether pools add up
constexpr std::uint32_t kVocab = 997;
constexpr StepCost kStep{std::chrono::microseconds(200), std::chrono::microseconds(10)};

}  // namespace

WorldModel toy_model(const Scenario& scenario) {
  ToyEngineConfig config;
  config.page_tokens = scenario.page_tokens;
  config.vocab = kVocab;
  config.context = 256;
  config.cost = kStep;
  WorldModel model;
  model.engine = [config](Context& context) { return std::make_unique<ToyEngine>(context, config); };
  model.reference = [](const GenerationRequest& request) {
    return ToyEngine::reference(request.prompt, request.stop.max_tokens, kVocab, request.sampling.seed);
  };
  model.vocab = kVocab;
  return model;
}

World::World(const Scenario& scenario, WorldModel model, std::size_t trace_events)
    : scenario_(scenario),
      model_(std::move(model)),
      chronicle_(clock_, trace_events),
      front_(clock_, "front"),
      net_(clock_, "network"),
      fate_(clock_, "fate"),
      network_(net_, scenario_, chronicle_),
      ledger_(chronicle_),
      wires_(network_, ledger_, chronicle_, scenario_),
      front_scope_(front_, "world"),
      net_scope_(net_, "network"),
      fate_scope_(fate_, "fate"),
      fault_over_(front_, "faults") {
  NodeConfig config = node_config();
  config.trace_events = trace_events;
  NodeWorld world{
      front_,
      [this](RankId id) -> Context& { return rank_of(id).context; },
      [this](RankId id) -> Engine& { return *rank_of(id).engine; },
      metrics_,
      [this](Context& context, Endpoint& inner) -> Endpoint& {
        auto& rank = *ranks_.at(inner.self().rank);
        rank.endpoint = std::make_unique<ChaosEndpoint>(context, inner, wires_);
        return *rank.endpoint;
      },
      [this](RankId self, ControlLink& inner) -> ControlLink& {
        links_.push_back(std::make_unique<ChaosLink>(self, inner, network_, ledger_, chronicle_, arrivals_));
        return *links_.back();
      },
      [this](RankId rank) { condemned_ = ranks_.at(rank)->condemned = true; }};
  node_ = std::make_unique<Node>(std::move(world), std::move(config), TextRules{});
}

World::Rank& World::rank_of(RankId id) {
  auto& rank = ranks_[id];
  if (!rank) {
    rank = std::make_unique<Rank>(clock_, id);
    rank->engine = std::make_unique<ChaosEngine>(rank->context, model_.engine(rank->context), id, ledger_);
  }
  return *rank;
}

World::~World() {
  tear_down();
}

NodeConfig World::node_config() const {
  NodeConfig config;
  config.routers = scenario_.routers;
  config.aggregated = scenario_.aggregated;
  config.prefill_ranks = scenario_.aggregated ? 0 : scenario_.prefill;
  config.decode_ranks = scenario_.decode;
  config.decode_pages = scenario_.decode_pages;
  config.prefill_pages = scenario_.prefill_pages;
  config.copying = scenario_.copying && !scenario_.aggregated;
  config.prefix_cache = scenario_.prefix_cache;
  config.poison = true;
  config.model_hash = 7;
  config.seed = scenario_.seed;
  config.liveness.period = config.copying ? scenario_.heartbeat : Duration{0};
  config.prefill.step.step_tokens = scenario_.chunk_tokens;
  config.prefill.rooms_max = scenario_.rooms_max;
  config.decode.step.step_tokens = scenario_.chunk_tokens;
  config.decode.running_max = scenario_.running_max;
  config.decode.waiting_max = scenario_.waiting_max;
  config.decode.admission.lookahead_tokens = scenario_.lookahead_tokens;
  config.decode.retract_every = scenario_.retract_every;
  config.decode.retraction = scenario_.recompute ? policy::Retraction::recompute : policy::Retraction::copy;
  config.decode.victims = scenario_.latest_first ? policy::Victims::latest : policy::Victims::least_lost;
  config.decode.plan_ahead = scenario_.plan_ahead;
  config.router.open_max = scenario_.open_max;
  config.router.time_limit = std::chrono::seconds(2);
  config.router.seed = scenario_.seed;
  return config;
}

void World::run() {
  {
    const Context::Inside inside(net_);
    net_scope_.spawn("deliver", network_.run());
  }
  for (const RankId rank : node_->ranks()) {
    start_rank(rank);
  }
  {
    const Context::Inside inside(front_);
    front_scope_.spawn("routers", watch(node_->run_front()));
    for (std::uint32_t i = 0; i < scenario_.routers; ++i) {
      node_->router(i).open_for_work();
    }
    front_scope_.spawn("director", direct());
  }
  {
    const Context::Inside inside(fate_);
    faults_open_ = scenario_.timed.size();
    for (const TimedFault& fault : scenario_.timed) {
      fate_scope_.spawn("fault", play(fault));
    }
  }
  for (std::uint64_t events = 0; !over_ && !chronicle_.violation(); ++events) {
    if (!clock_.step()) {
      chronicle_.blame("deadlock", clock_.wait_report());
    } else if (events > kEventsMax) {
      chronicle_.blame("endless", clock_.wait_report());
    }
    if (condemned_) {
      supervise();
    }
    if (events % kLookEvery == 0) {
      ledger_.check_pools();
    }
  }
  history_ = node_->trace();
  if (!chronicle_.violation()) {
    check_afterwards(scenario_, history_, arrivals_, outcomes_, chronicle_);
  }
}

// A loop of a rank or router that ends by an exception is a bug, wherever it comes from.
Task<> World::watch(Task<> loop) {
  try {
    co_await std::move(loop);
  } catch (const std::exception& error) {
    chronicle_.blame("fault", fmt::format("a loop ended with: {}", error.what()));
  }
}

void World::start_rank(RankId id) {
  Rank& rank = *ranks_.at(id);
  rank.up = true;
  rank.condemned = false;
  if (KvArena* arena = node_->arena(id); arena != nullptr) {
    ledger_.rank_up(node_->peer(id), *node_->pool(id), *arena);
  }
  const Context::Inside inside(rank.context);
  rank.scope = std::make_unique<Scope>(rank.context, "rank");
  rank.scope->spawn(to_string(id), watch(node_->run_rank(id)));
}

ClientOrder World::order(const ClientPlan& plan) const {
  ClientOrder order;
  order.plan = plan;
  GenerationRequest& request = order.request;
  Random random = Random(scenario_.seed).fork(1000 + plan.index);
  Random family = Random(scenario_.seed).fork(1'000'000'000 + plan.family);
  std::vector<TokenId> prompt;
  for (std::uint32_t i = 0; i < plan.prompt_tokens; ++i) {
    Random& source = i < plan.shared_tokens ? family : random;
    prompt.push_back(static_cast<TokenId>(source.uniform(model_.vocab)));
  }
  request.prompt = std::move(prompt);
  request.sampling.seed = plan.index;
  request.stop.max_tokens = plan.max_tokens;
  request.time_limit = plan.time_limit;
  request.client_id = std::to_string(plan.index);
  if (model_.adorn) {
    model_.adorn(plan.index, request);
  }
  order.expected = model_.reference(request);
  if (plan.stop_after && *plan.stop_after <= order.expected.size()) {
    const TokenId stop = order.expected[*plan.stop_after - 1];
    request.stop.stop_token_ids = {stop};
    order.expected.erase(std::ranges::find(order.expected, stop), order.expected.end());
  }
  order.promise = promise_of(scenario_, plan);
  return order;
}

// Coroutines go before what they refer to: the front's first, whose end is a client that vanishes.
void World::tear_down() {
  front_.destroy_coroutines();
  for (auto& [id, rank] : ranks_) {
    rank->context.destroy_coroutines();
  }
  net_.destroy_coroutines();
  fate_.destroy_coroutines();
  for (auto& [id, rank] : ranks_) {
    network_.set_dead(id, true);
    rank->scope.reset();
  }
  node_.reset();
}

}  // namespace baton::chaos
