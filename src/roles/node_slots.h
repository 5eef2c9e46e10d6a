// What a node builds for each rank and for one life of it. Members stand in the order in which they refer to each
// other.
#pragma once

#include <memory>
#include <utility>

#include "roles/node.h"

namespace baton {

inline KvArena::Memory arena_memory(const NodeConfig& config) {
  return config.memory ? KvArena::Memory::reserved : KvArena::Memory::none;
}

struct Node::PrefillSlot {
  PeerId self;
  std::unique_ptr<KvArena> arena;
  std::unique_ptr<KvPool> pool;
  RankMetrics metrics;
  PeerWatch peers;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<KvSender> sender;
  std::unique_ptr<PrefillRank> rank;

  PrefillSlot(Context& context, PeerId self_in, ControlLink& link, PeerWatchConfig watch, MetricsRegistry& registry)
      : self(self_in), metrics(registry, self_in.rank), peers(context, self_in, link, std::move(watch)) {}
};

struct Node::DecodeSlot {
  PeerId self;
  KvArena arena;
  KvPool pool;
  RankMetrics metrics;
  PeerWatch peers;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<KvReceiver> receiver;
  std::unique_ptr<DecodeRank> rank;
  bool over = false;  // its run has returned, or it crashed

  DecodeSlot(Context& context, PeerId self_in, ControlLink& link, PeerWatchConfig watch, const KvLayout& layout,
             std::uint32_t pages, const NodeConfig& config, MetricsRegistry& registry)
      : self(self_in),
        arena(layout, pages, arena_memory(config)),
        pool(layout, pages, config.poison ? &arena : nullptr, config.prefix_cache && config.caches_on_decode()),
        metrics(registry, self_in.rank),
        peers(context, self_in, link, std::move(watch)) {}
};

}  // namespace baton
