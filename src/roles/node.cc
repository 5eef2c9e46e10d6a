#include "roles/node.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "roles/node_slots.h"
#include "runtime/scope.h"
#include "transport/endpoint_receiver.h"
#include "transport/endpoint_sender.h"

namespace baton {

namespace {

// Between the seeds of two routers: the golden ratio's bits, so that their rooms have nothing in common.
constexpr std::uint64_t kSeedStride = 0x9e3779b97f4a7c15;

void check_config(const NodeConfig& config) {
  if (config.routers == 0) {
    throw Error(Errc::invalid_argument, "a node needs a router");
  }
  if (config.decode_ranks == 0 || (config.prefill_ranks == 0 && !config.aggregated)) {
    throw Error(Errc::invalid_argument,
                "a node needs at least one decode rank, and one prefill rank unless aggregated");
  }
  if (config.decode_pages == 0) {
    throw Error(Errc::invalid_argument, "the decode pool has no pages: give it more memory");
  }
  if (config.liveness.period > Duration::zero()) {
    if (config.liveness.missed == 0) {
      throw Error(Errc::invalid_argument, "a rank must be allowed to miss a heartbeat");
    }
    if (!config.copying && !config.aggregated) {
      throw Error(Errc::invalid_argument,
                  "ranks cannot be given up while they share memory: nothing would keep their writes out");
    }
  }
  if (config.router.routing == policy::Routing::prefix_aware && !config.prefix_cache) {
    throw Error(Errc::invalid_argument, "prefix-aware routing needs the prefix cache");
  }
  if (!config.memory && config.poison) {
    throw Error(Errc::invalid_argument, "pages without memory cannot be poisoned");
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
  for (std::uint32_t i = 0; i < config_.decode_ranks; ++i) {
    build({config_.aggregated ? Role::aggregated : Role::decode, i});
  }
  for (std::uint32_t i = 0; !config_.aggregated && i < config_.prefill_ranks; ++i) {
    build({Role::prefill, i});
  }
  build_routers();
}

Node::~Node() = default;

void Node::build_routers() {
  RouterRanks ranks;
  for (const auto& [rank, slot] : decode_) {
    ranks.decode.push_back(slot->self);
  }
  for (const auto& [rank, slot] : prefill_) {
    ranks.prefill.push_back(slot->self);
  }
  if (config_.aggregated) {
    ranks.prefill = ranks.decode;
  }
  Engine& engine = world_.engine(ranks.decode.front().rank);
  config_.router.vocab_size = engine.vocab_size();
  if (config_.prefix_cache) {
    PrefixRouting& prefix = config_.router.prefix;
    prefix.page_tokens = engine.kv_layout().page_tokens;
    prefix.on_decode = config_.caches_on_decode();
    prefix.pages_total = cache_pages();
    prefix.seed = config_.seed;
  }
  limit_requests(ranks, engine);
  for (std::uint32_t i = 0; i < config_.routers; ++i) {
    RouterConfig router = config_.router;
    router.index = i;
    router.liveness = config_.liveness;
    router.seed += i * kSeedStride;
    const RankId self{Role::router, i};
    traces_.try_emplace(self, config_.trace_events);
    routers_.push_back(
        std::make_unique<Router>(world_.front, link_of(self), ranks, router, world_.metrics, traces_.at(self)));
    link_.attach_router(self, routers_.back()->inbox().sender());
  }
}

// To what the smallest pools hold, as a request may be sent to any rank. Equal prefill pools set no limit here: each of
// their ranks refuses the same prompts itself.
void Node::limit_requests(const RouterRanks& ranks, const Engine& engine) {
  const auto size = [this](PeerId peer) { return pages_of(peer.rank); };
  const auto tokens = [&](PeerId peer) {
    const std::uint64_t held = std::uint64_t{size(peer)} * engine.kv_layout().page_tokens;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(engine.context_length(), held));
  };
  config_.router.max_context = tokens(*std::ranges::min_element(ranks.decode, {}, size));
  if (config_.copying && !config_.aggregated) {
    const auto [smallest, largest] = std::ranges::minmax_element(ranks.prefill, {}, size);
    config_.router.max_prompt = size(*smallest) < size(*largest) ? tokens(*smallest) : 0;
  }
}

std::uint32_t Node::pages_of(RankId rank) const {
  if (world_.pages) {
    return world_.pages(rank);
  }
  return rank.role == Role::prefill ? config_.prefill_pages : config_.decode_pages;
}

std::uint64_t Node::cache_pages() const {
  std::uint64_t pages = 0;
  for (const RankId rank : ranks()) {
    pages += (rank.role == Role::prefill) != config_.caches_on_decode() ? pages_of(rank) : 0;
  }
  return pages;
}

PeerId Node::draw_peer(RankId rank) {
  InstanceId instance;
  instance.high = random_.next();
  instance.low = random_.next();
  return {rank, instance};
}

Endpoint& Node::decorated(Context& context, Endpoint& endpoint) const {
  return world_.decorate ? world_.decorate(context, endpoint) : endpoint;
}

ControlLink& Node::link_of(RankId self) {
  return world_.decorate_link ? world_.decorate_link(self, link_) : link_;
}

PeerWatchConfig Node::watch_config() const {
  return {config_.liveness, config_.routers, world_.expelled};
}

void Node::build(RankId rank) {
  const PeerId self = draw_peer(rank);
  peers_[rank] = self;
  traces_.try_emplace(rank, config_.trace_events);
  if (rank.role == Role::prefill) {
    build_prefill(rank, self);
  } else {
    build_decode(rank, self);
  }
}

void Node::build_decode(RankId rank, PeerId self) {
  Engine& engine = world_.engine(rank);
  Context& context = world_.context(rank);
  ControlLink& link = link_of(rank);
  auto slot = std::make_unique<DecodeSlot>(context, self, link, watch_config(), engine.kv_layout(), pages_of(rank),
                                           config_, world_.metrics);
  if (!config_.aggregated) {
    slot->endpoint = hub_.attach(context, slot->self, &slot->arena);
    slot->receiver = std::make_unique<EndpointReceiver>(context, decorated(context, *slot->endpoint),
                                                        engine.kv_layout(), config_.model_hash);
  }
  DecodeConfig decode = config_.decode;
  decode.local_prefill = config_.aggregated;
  DecodeParts parts{context, slot->self,  engine, slot->receiver.get(), slot->arena,     slot->pool,
                    link,    slot->peers, rules_, slot->metrics,        traces_.at(rank)};
  slot->rank = std::make_unique<DecodeRank>(parts, decode);
  link_.attach(rank, slot->rank->inbox().sender());
  ++decode_open_;
  decode_[rank] = std::move(slot);
}

void Node::build_prefill(RankId rank, PeerId self) {
  Engine& engine = world_.engine(rank);
  Context& context = world_.context(rank);
  ControlLink& link = link_of(rank);
  auto slot = std::make_unique<PrefillSlot>(context, self, link, watch_config(), world_.metrics);
  if (config_.copying) {
    slot->arena = std::make_unique<KvArena>(engine.kv_layout(), pages_of(rank), arena_memory(config_));
    slot->pool = std::make_unique<KvPool>(engine.kv_layout(), pages_of(rank),
                                          config_.poison ? slot->arena.get() : nullptr, config_.prefix_cache);
  }
  slot->endpoint = hub_.attach(context, slot->self, nullptr);
  slot->sender = std::make_unique<EndpointSender>(context, decorated(context, *slot->endpoint), engine.kv_layout(),
                                                  config_.model_hash);
  PrefillParts parts{context, slot->self,  engine, *slot->sender, slot->arena.get(), slot->pool.get(),
                     link,    slot->peers, rules_, slot->metrics, traces_.at(rank)};
  slot->rank = std::make_unique<PrefillRank>(parts, config_.prefill);
  link_.attach(rank, slot->rank->inbox().sender());
  prefill_[rank] = std::move(slot);
}

std::vector<RankId> Node::ranks() const {
  std::vector<RankId> all;
  for (const auto& [rank, slot] : prefill_) {
    all.push_back(rank);
  }
  for (const auto& [rank, slot] : decode_) {
    all.push_back(rank);
  }
  return all;
}

Task<> Node::run_rank(RankId rank) {
  if (rank.role == Role::prefill) {
    return prefill_.at(rank)->rank->run();
  }
  return run_decode(rank);
}

Task<> Node::run_decode(RankId rank) {
  DecodeSlot& slot = *decode_.at(rank);
  std::exception_ptr fault;
  try {
    co_await slot.rank->run();
  } catch (const std::exception&) {
    fault = std::current_exception();  // prefill ranks must not wait for it
  }
  decode_over(slot);
  if (fault) {
    std::rethrow_exception(fault);
  }
}

// On the thread of the rank that ended, which may be the last one that prefill ranks wait for.
void Node::decode_over(DecodeSlot& slot) {
  if (!std::exchange(slot.over, true)) {
    one_decode_less();
  }
}

void Node::one_decode_less() {
  if (--decode_open_ == 0 && stopping_) {
    for (const auto& [rank, slot] : prefill_) {
      if (slot) {
        slot->rank->stop();
      }
    }
  }
}

Task<> Node::run_front() {
  Scope scope(world_.front, "routers");
  for (const auto& router : routers_) {
    scope.spawn("run", router->run());
  }
  co_await scope.join();
}

void Node::stop_ranks() {
  stopping_ = true;
  ++decode_open_;  // so that none that ends meanwhile is the last one
  for (const auto& [rank, slot] : decode_) {
    if (slot) {
      slot->rank->stop();
    }
  }
  one_decode_less();
}

std::vector<TraceEvent> Node::trace() const {
  std::vector<const EventTrace*> traces;
  for (const auto& [rank, trace] : traces_) {
    traces.push_back(&trace);
  }
  return merge_traces(traces);
}

bool Node::drained() const {
  const auto is_drained = [](const auto& entry) { return !entry.second || entry.second->rank->drained(); };
  return std::all_of(prefill_.begin(), prefill_.end(), is_drained) &&
         std::all_of(decode_.begin(), decode_.end(), is_drained) &&
         std::all_of(routers_.begin(), routers_.end(), [](auto& router) { return router->open_requests() == 0; });
}

}  // namespace baton
