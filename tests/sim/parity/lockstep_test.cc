// The simulator and the server take the same decisions on the same arrivals (T8a).
//
// A simulation of 500 requests in virtual time says in which order requests arrived, steps ended and writes were
// through. The server's node, on threads, real clocks and mailboxes between them, is then led through that order
// (conductor.h), with engines that sleep and with the CPU engine, and must take every decision likewise: who goes
// where, what is in each step and in which pages, who is admitted, retracted and taken back when, what the prefix
// caches have and lose. One setting changed, and it does not.
#include <functional>
#include <list>
#include <memory>
#include <set>

#include <doctest/doctest.h>

#include "model/engine/cpu_engine.h"
#include "sim/parity/gated_endpoint.h"
#include "sim/parity/observed_engine.h"
#include "sim/parity/sleeping_engine.h"
#include "tests/sim/parity/conductor.h"
#include "tests/sim/parity/parity_load.h"
#include "tests/sim/parity/real_cluster.h"

namespace baton::sim {
namespace {

constexpr std::size_t kHistoryEvents = 1U << 20;
constexpr double kSpeed = 50;  // of sleeping engines: their times matter little, their order is led

using EngineFactory = std::function<std::unique_ptr<Engine>(RankId)>;

struct Simulated {
  DecisionLog log;
  std::vector<Turn> turns;
  std::uint64_t retractions = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t evicted = 0;
};

struct SimulatedSink final : ReplaySink {
  explicit SimulatedSink(Simulated& result_in) : result(result_in) {}
  void tokens(TimePoint, std::span<const TimePoint>) override {}
  void ended(const TraceRequest&, const RequestRecord& record) override {
    result.log.ended(record);
    result.retractions += record.retractions;
    result.cached_tokens += record.cached_tokens;
  }
  Simulated& result;
};

void simulate(const ClusterPlan& plan, const std::vector<TraceRequest>& requests, Simulated& result) {
  ListSource source(requests);
  TurnRecorder recorder(source);
  SimulatedSink sink(result);
  ReplayOptions options;
  options.trace_events = kHistoryEvents;
  options.wrap_engine = [&](RankId rank, std::unique_ptr<Engine> inner) {
    return std::make_unique<ObservedEngine>(rank, std::move(inner), result.log, recorder);
  };
  std::list<GatedEndpoint> endpoints;
  options.wrap_endpoint = [&](Endpoint& inner) -> Endpoint& { return endpoints.emplace_back(inner, recorder); };
  ClusterWorld world(plan, recorder, sink, options);
  world.run();
  REQUIRE(world.node().drained());
  result.log.add_history(world.node().trace());
  result.turns = recorder.turns();
  for (const RankId rank : world.node().ranks()) {
    result.evicted += world.node().pool(rank)->cache_counts().evicted;
  }
}

// The server's node led through the turns: what it decided otherwise, if anything.
std::optional<std::string> lead(const ClusterPlan& plan, const std::vector<TraceRequest>& requests,
                                const Simulated& simulated, const EngineFactory& engine) {
  DecisionLog log;
  Conductor conductor;
  const auto observed = [&](RankId rank) {
    return std::make_unique<ObservedEngine>(rank, engine(rank), log, conductor);
  };
  RealCluster cluster(plan, observed, &conductor);
  cluster.start([&log](const RequestRecord& record) { log.ended(record); });
  std::size_t next = 0;
  const auto contexts = cluster.contexts();
  const std::optional<std::string> lost =
      conductor.conduct(simulated.turns, contexts, [&] { cluster.arrive(requests[next++]); });
  CHECK(cluster.finish());
  log.add_history(cluster.node().trace());
  const std::optional<std::string> difference = first_difference(simulated.log, log);
  return lost ? lost : difference;
}

EngineFactory sleeping(const ClusterPlan& plan, Lateness& lateness) {
  return [&](RankId rank) {
    const PoolPlan& pool = rank.role == Role::prefill ? plan.prefill : plan.decode;
    return std::make_unique<SleepingEngine>(pool.cost, plan.layout, plan.context_length, kSpeed, lateness);
  };
}

// Milliseconds of steps, in numbers that keep ends of different ranks apart.
LinearCost lockstep_cost() {
  LinearCost cost;
  cost.constant = 3'000'017;
  cost.prefill_token = 20'011;
  cost.decode_sequence = 300'023;
  cost.context_thousand = 300'007;
  return cost;
}

// Pages short enough that caches lose some and running requests are retracted.
ClusterPlan lockstep_plan(bool aggregated) {
  ClusterPlan plan = parity_plan(aggregated, lockstep_cost());
  plan.prefill.pages = 1000;
  plan.decode.pages = aggregated ? 262 : 270;
  plan.decode_config.admission.lookahead_tokens = 0;
  return plan;
}

std::vector<TraceRequest> lockstep_requests() {
  return parity_requests(std::chrono::seconds(5));
}

// A run in virtual time that is worth comparing: the caches found and lost pages, running requests were retracted, and
// no two turns came in one instant, whose order the threads would not know.
void check_premises(const Simulated& simulated) {
  MESSAGE(simulated.turns.size(), " turns, ", simulated.retractions, " retractions, ", simulated.cached_tokens,
          " cached tokens, ", simulated.evicted, " pages evicted");
  CHECK(simulated.turns.size() > 2 * kRequests);
  CHECK(simulated.retractions > 5);
  CHECK(simulated.cached_tokens > 1000);
  CHECK(simulated.evicted > 100);
  std::set<TimePoint> times;
  for (const Turn& turn : simulated.turns) {
    times.insert(turn.time);
  }
  CHECK(times.size() == simulated.turns.size());
}

}  // namespace

TEST_CASE("Parity: sleeping engines on threads take the simulator's decisions, prefill and decode apart or in one") {
  const std::vector<TraceRequest> requests = lockstep_requests();
  for (const bool aggregated : {false, true}) {
    CAPTURE(aggregated);
    const ClusterPlan plan = lockstep_plan(aggregated);
    Simulated simulated;
    simulate(plan, requests, simulated);
    check_premises(simulated);
    Lateness lateness;
    const auto difference = lead(plan, requests, simulated, sleeping(plan, lateness));
    CHECK_MESSAGE(!difference, difference.value_or(""));
  }
}

TEST_CASE("Parity: the CPU engine takes the simulator's decisions") {
  kernels::ComputePool pool(2);
  WeightsOptions load;
  load.pool = &pool;
  const auto weights = Weights::load(ModelSource::open("tests/data/models/tiny-chat.gguf"), load);
  CpuEngineOptions options;
  options.page_tokens = kPageTokens;
  const CpuEngine sample(pool, weights, options);
  const std::vector<TraceRequest> requests = lockstep_requests();
  for (const bool aggregated : {false, true}) {
    CAPTURE(aggregated);
    ClusterPlan plan = lockstep_plan(aggregated);
    plan.layout = sample.kv_layout();
    plan.context_length = sample.context_length();
    Simulated simulated;
    simulate(plan, requests, simulated);
    check_premises(simulated);
    const auto difference =
        lead(plan, requests, simulated, [&](RankId) { return std::make_unique<CpuEngine>(pool, weights, options); });
    CHECK_MESSAGE(!difference, difference.value_or(""));
  }
}

TEST_CASE("Parity: a server with another setting decides otherwise") {
  const std::vector<TraceRequest> requests = lockstep_requests();
  const ClusterPlan plan = lockstep_plan(false);
  Simulated simulated;
  simulate(plan, requests, simulated);
  const auto differs = [&](const std::function<void(ClusterPlan&)>& change) {
    ClusterPlan changed = plan;
    change(changed);
    Lateness lateness;
    const auto difference = lead(changed, requests, simulated, sleeping(changed, lateness));
    MESSAGE(difference.value_or("no difference"));
    return difference.has_value();
  };
  CHECK(differs([](ClusterPlan& other) { other.decode_config.admission.lookahead_tokens += kPageTokens; }));
  CHECK(differs([](ClusterPlan& other) { other.decode_config.running_max -= 1; }));
  CHECK(differs([](ClusterPlan& other) { other.prefill_config.step.step_tokens += 1; }));
  CHECK(differs([](ClusterPlan& other) { other.prefill.pages += 1; }));
  CHECK(differs([](ClusterPlan& other) { other.router_config.routing = policy::Routing::least_loaded; }));
}

}  // namespace baton::sim
