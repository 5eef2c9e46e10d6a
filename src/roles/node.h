// A whole PD deployment of one process: router, prefill ranks, decode ranks, their pools and the link between them.
//
//   NodeWorld (contexts, engines) + NodeConfig --> Node: router on the front, ranks on theirs
//
// The node does not know in which world it runs: LocalNode gives every rank a thread and a CPU engine, the simulator
// gives all of them one virtual-time context and an engine that costs time. Built before anything runs; run_rank() and
// run_front() are then spawned on the contexts they belong to. Destroyed when all of them have returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "roles/decode.h"
#include "roles/local_link.h"
#include "roles/prefill.h"
#include "roles/rank_metrics.h"
#include "roles/router.h"
#include "runtime/metrics.h"
#include "runtime/trace.h"
#include "transport/endpoint.h"
#include "transport/inmemory/in_memory_hub.h"

namespace baton {

struct NodeConfig {
  bool aggregated = false;  // decode_ranks ranks do both; no hand-over. The oracle of the split
  std::uint32_t prefill_ranks = 1;
  std::uint32_t decode_ranks = 1;
  std::uint32_t decode_pages = 0;   // of each decode rank's arena
  std::uint32_t prefill_pages = 0;  // of each prefill rank's arena; used only with copying
  bool copying = false;             // separate arenas: pages are copied; false: prefill computes into decode's pages
  bool poison = false;              // fill free pages with a pattern and check it when they are given out again
  std::size_t trace_events = 0;     // events each rank keeps of its rooms' and steps' history; 0: none
  std::uint64_t model_hash = 0;
  std::uint64_t seed = 0;  // of instance ids; the router's is its own
  PrefillConfig prefill;
  DecodeConfig decode;
  RouterConfig router;  // max_context and vocab_size are filled in from the engines and pools
};

// What differs between the worlds. Everything outlives the node. A factory may give the same object every time.
struct NodeWorld {
  Context& front;
  std::function<Context&(RankId)> context;
  std::function<Engine&(RankId)> engine;
  MetricsRegistry& metrics;
  // Puts something between a rank and its endpoint, to inject faults: returns what the rank shall use instead, which
  // outlives the node's run. Empty: nothing.
  std::function<Endpoint&(Context&, Endpoint&)> decorate = {};
};

class Node final {
 public:
  // Throws Error(invalid_argument) for counts and sizes that cannot work.
  Node(NodeWorld world, NodeConfig config, TextRules rules);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Router& router() noexcept { return *router_; }
  const NodeConfig& config() const noexcept { return config_; }

  std::vector<RankId> ranks() const;

  // On the rank's context: returns after stop_ranks(), when nothing of the rank is left.
  Task<> run_rank(RankId rank);
  // On the front's context: returns after router().stop().
  Task<> run_front() { return router_->run(); }

  // Any thread. Fails what is open, then lets run_rank() return.
  void stop_ranks();

  // What the ranks have kept of their history, by time. While nothing runs, or on the one context of a simulation.
  std::vector<TraceEvent> trace() const;

  // All pools, queues and transfers are empty. While nothing runs, or on the one context of a simulation.
  bool drained() const;

 private:
  struct PrefillSlot;
  struct DecodeSlot;

  void build_prefill(std::uint32_t index);
  void build_decode(std::uint32_t index);
  PeerId draw_peer(RankId rank);
  Endpoint& decorated(Context& context, Endpoint& endpoint) const;

  NodeWorld world_;
  NodeConfig config_;
  TextRules rules_;
  Random random_;
  LocalLink link_;
  InMemoryHub hub_;
  std::vector<std::unique_ptr<PrefillSlot>> prefill_;
  std::vector<std::unique_ptr<DecodeSlot>> decode_;
  std::unique_ptr<Router> router_;
};

}  // namespace baton
