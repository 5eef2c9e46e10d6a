// A cluster in virtual time: the runtime's node with engines that cost time, and the clients of a trace.
//
//   RequestSource --arrivals--> clients --> Router, prefill and decode ranks (roles/node, as in the server)
//                                  |
//                                  +--tokens, ends--> ReplaySink
//
// One thread, one context, one run. The same plan, trace and seed give the same events to the nanosecond.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "roles/node.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "sim/cluster/cluster_plan.h"
#include "sim/cluster/cluster_sampler.h"
#include "sim/cluster/cost_engine.h"
#include "sim/cluster/replay_sink.h"
#include "sim/cluster/step_group.h"
#include "sim/network/fluid.h"
#include "sim/network/fluid_endpoint.h"
#include "sim/network/fluid_transfers.h"
#include "sim/network/topology.h"
#include "sim/sim_context.h"
#include "sim/workload/request.h"

namespace baton::sim {

struct ReplayOptions {
  bool rounds = true;  // false: decode steps one at a time, to compare
  // Hears of every write of pages that ends. Empty: nobody.
  std::function<void(const WriteSpan&)> on_write = {};
  StepListener on_step = {};  // of every step that ends; empty: nobody
  // Puts something around each rank's engine, or between its wires and the endpoint below them. Empty: nothing.
  std::function<std::unique_ptr<Engine>(RankId, std::unique_ptr<Engine>)> wrap_engine = {};
  std::function<Endpoint&(Endpoint&)> wrap_endpoint = {};
  std::size_t trace_events = 0;                      // events each rank keeps of its history (NodeConfig)
  Duration sample_period = std::chrono::seconds(1);  // of the sampler
  std::size_t samples_max = 4000;                    // beyond them it looks half as often
};

class ClusterWorld final {
 public:
  // All but the plan outlives the world. Throws Error(invalid_argument) for a plan that cannot work.
  ClusterWorld(ClusterPlan plan, RequestSource& source, ReplaySink& sink, ReplayOptions options);
  ~ClusterWorld();
  ClusterWorld(const ClusterWorld&) = delete;
  ClusterWorld& operator=(const ClusterWorld&) = delete;

  // Before run(): asked between two events now and then; false ends the replay where it is.
  void ask(std::function<bool()> go_on, std::uint64_t every = 4096) {
    go_on_ = std::move(go_on);
    ask_every_ = every;
  }

  // Until every request of the source has ended and every page is back. Throws what the source throws, and
  // Error(internal) if requests wait for each other for ever, which is a bug of baton's.
  void run();

  Duration now() const noexcept { return context_.now() - TimePoint{}; }
  std::uint64_t started() const noexcept { return started_; }
  std::uint64_t ended() const noexcept { return ended_; }
  bool cut_short() const noexcept { return cut_short_; }  // what ask() was given said so
  TimePoint first_arrival() const noexcept { return first_arrival_.value_or(TimePoint{}); }
  const ClusterSampler& sampler() const noexcept { return *sampler_; }
  const std::map<RankId, EngineAccount>& accounts() const noexcept { return accounts_; }
  Node& node() const noexcept { return *node_; }
  FluidNetwork& network() noexcept { return network_; }
  const FluidWires* wires() const noexcept { return wires_.get(); }  // null on an aggregated cluster

 private:
  void build_network();
  Engine& engine(RankId rank);
  std::unique_ptr<Engine> make_engine(RankId rank);
  Task<> replay();
  Task<> arrivals();
  Task<> client(TraceRequest request, std::uint64_t number);
  Prompt prompt_of(std::uint32_t tokens);
  NodeConfig node_config() const;
  Task<> run_rank(RankId rank);

  ClusterPlan plan_;
  RequestSource& source_;
  ReplaySink& sink_;
  ReplayOptions options_;
  SimContext context_;
  MetricsRegistry metrics_;
  FluidNetwork network_;
  std::unique_ptr<Topology> topology_;
  FluidTransfers transfers_;
  std::unique_ptr<FluidWires> wires_;
  std::map<RankId, EngineAccount> accounts_;
  std::map<RankId, std::unique_ptr<StepGroup>> groups_;  // by their first member
  std::map<RankId, std::unique_ptr<Engine>> engines_;
  Pulse client_gone_;
  Scope clients_;
  Scope ranks_;
  Scope replay_;  // and the network
  std::unique_ptr<Node> node_;
  std::unique_ptr<ClusterSampler> sampler_;
  std::function<bool()> go_on_;
  std::uint64_t ask_every_ = 1;  // events
  std::optional<TimePoint> first_arrival_;
  Prompt text_;
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  bool over_ = false;
  bool cut_short_ = false;
  std::exception_ptr fault_;
};

}  // namespace baton::sim
