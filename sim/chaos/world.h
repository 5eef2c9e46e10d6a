// World: a whole deployment in virtual time, with clients and faults, and a checker at every step.
//
//   clients --> routers (front context) --> ranks (a context each) --> ChaosEndpoint, ChaosLink --> Network
//                                             |
//                                             +--> ChaosEngine --> Ledger (who may touch which page)
//
// The roles are those that serve, built by roles/node. A crash destroys one rank's coroutines and memory, a freeze
// stands its context still. At the end all faults cease: then everything must drain, and new requests must be served.
// One run, on one thread; what it finds is in the chronicle.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "roles/node.h"
#include "runtime/metrics.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "sim/chaos/afterthought.h"
#include "sim/chaos/chaos_endpoint.h"
#include "sim/chaos/chaos_engine.h"
#include "sim/chaos/chaos_link.h"
#include "sim/chaos/chronicle.h"
#include "sim/chaos/client.h"
#include "sim/chaos/ledger.h"
#include "sim/chaos/network.h"
#include "sim/chaos/promises.h"
#include "sim/chaos/scenario.h"
#include "sim/sim_clock.h"
#include "sim/sim_context.h"

namespace baton::chaos {

// The model of a world: makes engines, and knows what they must generate. Outlives the world.
struct WorldModel {
  std::function<std::unique_ptr<Engine>(Context&)> engine;
  // All tokens of an undisturbed run: max_tokens of them, whatever the stop tokens.
  std::function<std::vector<TokenId>(const GenerationRequest&)> reference;
  std::uint32_t vocab = 0;
  // Adds to the request of that client, before its reference is asked for. Empty: requests are plain.
  std::function<void(std::uint32_t client, GenerationRequest&)> adorn = {};
};
WorldModel toy_model(const Scenario& scenario);

class World final {
 public:
  World(const Scenario& scenario, WorldModel model, std::size_t trace_events);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // From the first request to the last page back, or to the first broken rule.
  void run();

  const Chronicle& chronicle() const noexcept { return chronicle_; }
  const std::map<std::uint32_t, ClientOutcome>& outcomes() const noexcept { return outcomes_; }
  const std::vector<TraceEvent>& history() const noexcept { return history_; }  // of the ranks and routers, by time
  Duration virtual_time() const noexcept { return clock_.now() - TimePoint{}; }

 private:
  // What stays of a rank over its lives.
  struct Rank {
    SimContext context;
    std::unique_ptr<ChaosEngine> engine;
    std::unique_ptr<ChaosEndpoint> endpoint;  // of the present life
    std::unique_ptr<Scope> scope;             // likewise
    bool up = false;
    bool condemned = false;  // heard that it was given up; about to be replaced

    Rank(SimClock& clock, RankId id) : context(clock, to_string(id)) {}
  };

  Rank& rank_of(RankId id);  // made when first asked for
  NodeConfig node_config() const;
  void start_rank(RankId rank);
  Task<> watch(Task<> loop);
  ClientOrder order(const ClientPlan& plan) const;

  Task<> direct();
  ClientPlan own_plan(std::uint32_t nth, std::uint32_t prompt_tokens, std::uint32_t max_tokens) const;
  Task<> client(ClientOrder what);
  Task<> play(TimedFault fault);
  void begin_fault(const TimedFault& fault);
  void end_fault(const TimedFault& fault);
  void crash(RankId rank);
  void bring_up(RankId rank);
  void supervise();
  Task<> replace(RankId rank);
  void mend();
  Task<> drain(const char* when);
  Task<> probe();
  Task<> stop();
  Task<> end_ranks();
  void tear_down();

  Scenario scenario_;
  WorldModel model_;
  SimClock clock_;
  Chronicle chronicle_;
  SimContext front_;
  SimContext net_;
  SimContext fate_;  // where timed faults begin and end, and dead ranks are replaced
  Network network_;
  Ledger ledger_;
  Arrivals arrivals_;
  Wires wires_;
  MetricsRegistry metrics_;
  std::map<RankId, std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<ChaosLink>> links_;
  Scope front_scope_;
  Scope net_scope_;
  Scope fate_scope_;
  Pulse fault_over_;  // on the front: a timed fault has ended
  std::unique_ptr<Node> node_;
  std::map<std::uint32_t, ClientOutcome> outcomes_;  // references into it stay
  std::vector<TraceEvent> history_;
  std::size_t faults_open_ = 0;  // timed faults that have not ended
  bool condemned_ = false;       // some rank is
  bool over_ = false;
};

}  // namespace baton::chaos
