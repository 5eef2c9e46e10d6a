// A whole PD deployment of one process: routers, prefill ranks, decode ranks, their pools and the link between them.
//
//   NodeWorld (contexts, engines) + NodeConfig --> Node: routers on the front, ranks on theirs
//
// The node does not know in which world it runs: LocalNode gives every rank a thread and a CPU engine, the simulator
// gives all of them one virtual-time context and an engine that costs time. Built before anything runs; run_rank() and
// run_front() are then spawned on the contexts they belong to. Destroyed when all of them have returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "roles/decode.h"
#include "roles/local_link.h"
#include "roles/membership.h"
#include "roles/peer_watch.h"
#include "roles/prefill.h"
#include "roles/rank_metrics.h"
#include "roles/router.h"
#include "runtime/metrics.h"
#include "runtime/trace.h"
#include "transport/endpoint.h"
#include "transport/inmemory/in_memory_hub.h"

namespace baton {

struct NodeConfig {
  std::uint32_t routers = 1;
  bool aggregated = false;  // decode_ranks ranks do both; no hand-over. The oracle of the split
  std::uint32_t prefill_ranks = 1;
  std::uint32_t decode_ranks = 1;
  std::uint32_t decode_pages = 0;   // of each decode rank's arena
  std::uint32_t prefill_pages = 0;  // of each prefill rank's arena; used only with copying
  bool copying = false;             // separate arenas: pages are copied; false: prefill computes into decode's pages
  bool prefix_cache = false;        // computed prefixes are reused, in prefill's pools if there are any, else decode's
  bool memory = true;   // false: pages exist in the books alone; engines and endpoints touch none (a simulation)
  bool poison = false;  // fill free pages with a pattern and check it when they are given out again
  std::size_t trace_events = 0;  // events each rank keeps of its rooms' and steps' history; 0: none
  std::uint64_t model_hash = 0;
  std::uint64_t seed = 0;  // of instance ids; the router's is its own
  Liveness liveness;       // heartbeats of the ranks; none where all end together with the process
  PrefillConfig prefill;
  DecodeConfig decode;
  RouterConfig router;  // max_context, max_prompt, vocab_size, liveness, prefix and index are filled in

  // Whose pools hold what was computed of prompts.
  bool caches_on_decode() const noexcept { return aggregated || !copying; }
};

// What differs between the worlds. Everything outlives the node. A factory gives the same object every time in one
// life of the rank.
struct NodeWorld {
  Context& front;
  std::function<Context&(RankId)> context;
  std::function<Engine&(RankId)> engine;
  MetricsRegistry& metrics;
  // Puts something between a rank and its endpoint, to inject faults: returns what the rank shall use instead, which
  // outlives the node's run. Empty: nothing.
  std::function<Endpoint&(Context&, Endpoint&)> decorate = {};
  // The same for the link a rank or router posts through. Called once a life.
  std::function<ControlLink&(RankId self, ControlLink&)> decorate_link = {};
  // On the rank's context: the rank has heard that it was given up. What it does is void from now on; its supervisor
  // ends it and starts it again as another instance. Empty: nothing happens to it.
  std::function<void(RankId)> expelled = {};
  // Pages of a rank's arena where ranks of one kind differ. Empty: as many as the config says.
  std::function<std::uint32_t(RankId)> pages = {};
};

class Node final {
 public:
  // Throws Error(invalid_argument) for counts and sizes that cannot work.
  Node(NodeWorld world, NodeConfig config, TextRules rules);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Router& router(std::uint32_t index = 0) { return *routers_.at(index); }
  const NodeConfig& config() const noexcept { return config_; }

  std::vector<RankId> ranks() const;

  // On the rank's context: returns after stop_ranks(), when nothing of the rank is left.
  Task<> run_rank(RankId rank);
  // On the front's context: returns after stop() of every router.
  Task<> run_front();

  // Any thread. Fails what is open, then lets run_rank() return. Prefill ranks stop when all decode ranks have ended:
  // the pages of a hand-over that was given up come back only with its sender's last word.
  void stop_ranks();

  // What ranks and routers have kept of their history, by time; the words of a room's are in room_event.h. While
  // nothing runs, or on the one context of a simulation.
  std::vector<TraceEvent> trace() const;

  // All pools, queues and transfers are empty. While nothing runs, or on the one context of a simulation.
  bool drained() const;

  // --- only in worlds of one thread --------------------------------------------------------------------------------

  // The rank dies: what it held is destroyed, and what it is sent vanishes. Its coroutines have ended or have been
  // destroyed, and a stop_ranks() has reached its context. Its transfers say goodbye through its endpoint: a decoration
  // keeps that from the others where a death shall be silent. Its history stays.
  void crash(RankId rank);

  // Builds the rank anew as another instance, after crash() of the old one if that has not happened. The caller spawns
  // run_rank() again. Without heartbeats no router learns of it.
  void restart(RankId rank);

  PeerId peer(RankId rank) const;         // the present instance, or the last one
  const KvPool* pool(RankId rank) const;  // null: it has none, or is down
  KvArena* arena(RankId rank);            // likewise
  bool drained(RankId rank) const;        // true of a rank that is down

 private:
  struct PrefillSlot;
  struct DecodeSlot;

  Task<> run_decode(RankId rank);
  void decode_over(DecodeSlot& slot);
  void one_decode_less();
  void build(RankId rank);
  void build_prefill(RankId rank, PeerId self);
  void build_decode(RankId rank, PeerId self);
  void build_routers();
  void limit_requests(const RouterRanks& ranks, const Engine& engine);
  std::uint32_t pages_of(RankId rank) const;
  std::uint64_t cache_pages() const;  // of all pools that keep prefixes
  PeerId draw_peer(RankId rank);
  ControlLink& link_of(RankId self);
  PeerWatchConfig watch_config() const;
  Endpoint& decorated(Context& context, Endpoint& endpoint) const;

  NodeWorld world_;
  NodeConfig config_;
  TextRules rules_;
  Random random_;
  LocalLink link_;
  InMemoryHub hub_;
  std::map<RankId, EventTrace> traces_;  // over all lives
  std::map<RankId, PeerId> peers_;
  std::map<RankId, std::unique_ptr<PrefillSlot>> prefill_;  // null while the rank is down
  std::map<RankId, std::unique_ptr<DecodeSlot>> decode_;
  std::atomic<std::uint32_t> decode_open_{0};  // decode ranks that are built and have not ended
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Router>> routers_;
};

}  // namespace baton
