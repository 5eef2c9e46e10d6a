#include "roles/node.h"

#include <algorithm>
#include <utility>

#include "transport/endpoint_receiver.h"
#include "transport/endpoint_sender.h"

namespace baton {

// Members in the order in which they refer to each other.
struct Node::PrefillSlot {
  PeerId self;
  std::unique_ptr<KvArena> arena;
  std::unique_ptr<KvPool> pool;
  RankMetrics metrics;
  EventTrace trace;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<KvSender> sender;
  std::unique_ptr<PrefillRank> rank;

  PrefillSlot(PeerId self_in, MetricsRegistry& registry, std::size_t trace_events)
      : self(self_in), metrics(registry, self_in.rank), trace(trace_events) {}
};

struct Node::DecodeSlot {
  PeerId self;
  KvArena arena;
  KvPool pool;
  RankMetrics metrics;
  EventTrace trace;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<KvReceiver> receiver;
  std::unique_ptr<DecodeRank> rank;

  DecodeSlot(PeerId self_in, const KvLayout& layout, const NodeConfig& config, MetricsRegistry& registry)
      : self(self_in),
        arena(layout, config.decode_pages),
        pool(layout, config.decode_pages, config.poison ? &arena : nullptr),
        metrics(registry, self_in.rank),
        trace(config.trace_events) {}
};

namespace {

void check_config(const NodeConfig& config) {
  if (config.decode_ranks == 0 || (config.prefill_ranks == 0 && !config.aggregated)) {
    throw Error(Errc::invalid_argument,
                "a node needs at least one decode rank, and one prefill rank unless aggregated");
  }
  if (config.decode_pages == 0) {
    throw Error(Errc::invalid_argument, "the decode pool has no pages: give it more memory");
  }
  if (config.copying && !config.aggregated && config.prefill_pages == 0) {
    throw Error(Errc::invalid_argument, "the prefill pool has no pages: give it more memory");
  }
}

}  // namespace

Node::Node(NodeWorld world, NodeConfig config, TextRules rules)
    : world_(std::move(world)),
      config_(std::move(config)),
      rules_(std::move(rules)),
      random_(config_.seed),
      hub_(config_.copying ? MemoryMode::copying : MemoryMode::shared) {
  check_config(config_);
  RouterRanks ranks;
  for (std::uint32_t i = 0; i < config_.decode_ranks; ++i) {
    build_decode(i);
    ranks.decode.push_back(decode_.back()->self);
  }
  for (std::uint32_t i = 0; !config_.aggregated && i < config_.prefill_ranks; ++i) {
    build_prefill(i);
    ranks.prefill.push_back(prefill_.back()->self);
  }
  if (config_.aggregated) {
    ranks.prefill = ranks.decode;
  }
  Engine& engine = world_.engine(decode_.front()->self.rank);
  const std::uint64_t pool_tokens = std::uint64_t{config_.decode_pages} * engine.kv_layout().page_tokens;
  config_.router.vocab_size = engine.vocab_size();
  config_.router.max_context =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(engine.context_length(), pool_tokens));
  router_ = std::make_unique<Router>(world_.front, link_, std::move(ranks), config_.router, world_.metrics);
  link_.attach_router(router_->inbox().sender());
}

Node::~Node() = default;

PeerId Node::draw_peer(RankId rank) {
  InstanceId instance;
  instance.high = random_.next();
  instance.low = random_.next();
  return {rank, instance};
}

Endpoint& Node::decorated(Context& context, Endpoint& endpoint) const {
  return world_.decorate ? world_.decorate(context, endpoint) : endpoint;
}

void Node::build_decode(std::uint32_t index) {
  const RankId rank{config_.aggregated ? Role::aggregated : Role::decode, index};
  Engine& engine = world_.engine(rank);
  Context& context = world_.context(rank);
  auto slot = std::make_unique<DecodeSlot>(draw_peer(rank), engine.kv_layout(), config_, world_.metrics);
  if (!config_.aggregated) {
    slot->endpoint = hub_.attach(context, slot->self, &slot->arena);
    slot->receiver = std::make_unique<EndpointReceiver>(context, decorated(context, *slot->endpoint),
                                                        engine.kv_layout(), config_.model_hash);
  }
  DecodeConfig decode = config_.decode;
  decode.local_prefill = config_.aggregated;
  DecodeParts parts{context,    slot->self, engine, slot->receiver.get(), slot->arena,
                    slot->pool, link_,      rules_, slot->metrics,        slot->trace};
  slot->rank = std::make_unique<DecodeRank>(parts, decode);
  link_.attach(rank, slot->rank->inbox().sender());
  decode_.push_back(std::move(slot));
}

void Node::build_prefill(std::uint32_t index) {
  const RankId rank{Role::prefill, index};
  Engine& engine = world_.engine(rank);
  Context& context = world_.context(rank);
  auto slot = std::make_unique<PrefillSlot>(draw_peer(rank), world_.metrics, config_.trace_events);
  if (config_.copying) {
    slot->arena = std::make_unique<KvArena>(engine.kv_layout(), config_.prefill_pages);
    slot->pool = std::make_unique<KvPool>(engine.kv_layout(), config_.prefill_pages,
                                          config_.poison ? slot->arena.get() : nullptr);
  }
  slot->endpoint = hub_.attach(context, slot->self, nullptr);
  slot->sender = std::make_unique<EndpointSender>(context, decorated(context, *slot->endpoint), engine.kv_layout(),
                                                  config_.model_hash);
  PrefillParts parts{context,          slot->self, engine, *slot->sender, slot->arena.get(),
                     slot->pool.get(), link_,      rules_, slot->metrics, slot->trace};
  slot->rank = std::make_unique<PrefillRank>(parts, config_.prefill);
  link_.attach(rank, slot->rank->inbox().sender());
  prefill_.push_back(std::move(slot));
}

std::vector<RankId> Node::ranks() const {
  std::vector<RankId> all;
  for (const auto& slot : prefill_) {
    all.push_back(slot->self.rank);
  }
  for (const auto& slot : decode_) {
    all.push_back(slot->self.rank);
  }
  return all;
}

Task<> Node::run_rank(RankId rank) {
  if (rank.role == Role::prefill) {
    return prefill_.at(rank.index)->rank->run();
  }
  return decode_.at(rank.index)->rank->run();
}

void Node::stop_ranks() {
  for (const auto& slot : decode_) {
    slot->rank->stop();
  }
  for (const auto& slot : prefill_) {
    slot->rank->stop();
  }
}

std::vector<TraceEvent> Node::trace() const {
  std::vector<const EventTrace*> traces;
  for (const auto& slot : prefill_) {
    traces.push_back(&slot->trace);
  }
  for (const auto& slot : decode_) {
    traces.push_back(&slot->trace);
  }
  return merge_traces(traces);
}

bool Node::drained() const {
  const bool prefill = std::all_of(prefill_.begin(), prefill_.end(), [](auto& s) { return s->rank->drained(); });
  const bool decode = std::all_of(decode_.begin(), decode_.end(), [](auto& s) { return s->rank->drained(); });
  return prefill && decode && router_->open_requests() == 0;
}

}  // namespace baton
