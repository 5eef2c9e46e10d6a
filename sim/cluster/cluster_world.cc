#include "sim/cluster/cluster_world.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "runtime/sleep.h"

namespace baton::sim {

ClusterWorld::ClusterWorld(ClusterPlan plan, RequestSource& source, ReplaySink& sink, ReplayOptions options)
    : plan_(std::move(plan)),
      source_(source),
      sink_(sink),
      options_(std::move(options)),
      transfers_(context_, network_),
      client_gone_(context_, "clients"),
      clients_(context_, "clients"),
      ranks_(context_, "cluster"),
      replay_(context_, "replay") {
  NodeWorld world{context_, [this](RankId) -> Context& { return context_; },
                  [this](RankId rank) -> Engine& { return engine(rank); }, metrics_};
  world.pages = [this](RankId rank) { return plan_.find(rank).pool.pages; };
  if (!plan_.aggregated) {
    build_network();
    world.decorate = [this](Context& context, Endpoint& inner) -> Endpoint& {
      return wires_->decorate(context, options_.wrap_endpoint ? options_.wrap_endpoint(inner) : inner);
    };
  }
  node_ = std::make_unique<Node>(std::move(world), node_config(), TextRules{});
  const SampledWorld sampled{context_, *node_, metrics_, accounts_, network_};
  sampler_ = std::make_unique<ClusterSampler>(sampled, options_.sample_period, options_.samples_max);
}

void ClusterWorld::build_network() {
  topology_ = std::make_unique<Topology>(network_, plan_.network, plan_.places);
  WriteRules rules;
  if (plan_.stream_layers) {
    rules.layers = plan_.model_layers;
    rules.computing = [this](const KvWrite& write) { return accounts_.at(write.notice->from.rank).last_step; };
  }
  wires_ = std::make_unique<FluidWires>(transfers_, *topology_, std::move(rules), options_.on_write);
}

Engine& ClusterWorld::engine(RankId rank) {
  std::unique_ptr<Engine>& engine = engines_[rank];
  if (!engine) {
    engine = make_engine(rank);
    if (options_.wrap_engine) {
      engine = options_.wrap_engine(rank, std::move(engine));
    }
  }
  return *engine;
}

std::unique_ptr<Engine> ClusterWorld::make_engine(RankId rank) {
  const auto& [pool, index] = plan_.find(rank);
  const CostEngineConfig config{plan_.layout,      plan_.context_length, options_.rounds,      rank,
                                &options_.on_step, pool.speculation,     pool.host_bytes_per_s};
  if (pool.group == 1) {
    return std::make_unique<CostEngine>(context_, *pool.cost, config, accounts_[rank]);
  }
  const std::uint32_t member = index % pool.group;
  std::unique_ptr<StepGroup>& group = groups_[{rank.role, rank.index - member}];
  if (!group) {
    group = std::make_unique<StepGroup>(context_, *pool.cost, pool.group);
  }
  return std::make_unique<GroupEngine>(*group, member, config, accounts_[rank]);
}

ClusterWorld::~ClusterWorld() {
  context_.destroy_coroutines();
}

NodeConfig ClusterWorld::node_config() const {
  NodeConfig config = sim::node_config(plan_);
  config.memory = false;
  config.trace_events = options_.trace_events;
  return config;
}

void ClusterWorld::run() {
  {
    const Context::Inside inside(context_);
    for (const RankId rank : node_->ranks()) {
      ranks_.spawn(to_string(rank), run_rank(rank));
    }
    ranks_.spawn("routers", node_->run_front());
    node_->router().open_for_work();
    replay_.spawn("network", transfers_.run());
    for (const auto& [first, group] : groups_) {
      replay_.spawn("group", group->run());
    }
    replay_.spawn("samples", sampler_->run());
    replay_.spawn("replay", replay());
  }
  for (std::uint64_t events = 0; !over_ && !fault_ && !cut_short_; ++events) {
    if (!context_.step()) {
      throw Error(Errc::internal, "the simulated cluster waits for itself:\n" + context_.wait_report());
    }
    if (go_on_ && events % ask_every_ == 0) {
      cut_short_ = !go_on_();
    }
  }
  if (fault_) {
    std::rethrow_exception(fault_);
  }
}

Task<> ClusterWorld::run_rank(RankId rank) {
  try {
    co_await node_->run_rank(rank);
  } catch (const std::exception&) {
    fault_ = std::current_exception();
  }
}

Task<> ClusterWorld::replay() {
  try {
    co_await arrivals();
    co_await clients_.join();
    node_->stop_ranks();
    node_->router().stop();
    co_await ranks_.join();
    over_ = true;
  } catch (const std::exception&) {
    fault_ = std::current_exception();
  }
}

// Starts a client for each request when its time has come. What a finished request brings may come before what was
// next until then.
Task<> ClusterWorld::arrivals() {
  for (;;) {
    const std::optional<Duration> next = source_.peek();
    if (!next && started_ == ended_) {
      co_return;
    }
    const TimePoint time = next ? TimePoint{} + *next : kNever;
    if (time > context_.now()) {
      co_await client_gone_.wait_until(time, kArrivalPriority);
      continue;
    }
    std::optional<TraceRequest> request = source_.next();
    ++started_;
    first_arrival_ = first_arrival_.value_or(context_.now());
    clients_.spawn("client", client(std::move(*request), started_));
  }
}

// All prompts are beginnings of one text, as long as the longest so far.
Prompt ClusterWorld::prompt_of(std::uint32_t tokens) {
  if (text_.size() < tokens) {
    text_ = std::vector<TokenId>(std::bit_ceil(tokens));
  }
  return text_.beginning(tokens);
}

Task<> ClusterWorld::client(TraceRequest request, std::uint64_t number) {
  RecordBuilder record(request.id, request.input_tokens, context_.now(), TimePoint{});
  const std::unique_ptr<Generation> generation =
      node_->router().start(to_generation(plan_, request, number, prompt_of(request.input_tokens)));
  std::optional<TimePoint> last;
  const auto take = [&](std::span<const TimePoint> ends) {
    record.tokens(ends);
    if (!last) {
      last = ends.front();
      ends = ends.subspan(1);
    }
    if (!ends.empty()) {
      sink_.tokens(*last, ends);
      last = ends.back();
    }
  };
  while (std::optional<GenerationEvent> event = co_await generation->next()) {
    if (const auto* several = std::get_if<TokensEvent>(&*event)) {
      take(*several->ends);
    } else if (std::holds_alternative<TokenEvent>(*event)) {
      const TimePoint now = context_.now();
      take({&now, 1});
    } else {
      sink_.ended(request, record.finish(std::get<FinishEvent>(*event), context_.now()));
    }
  }
  ++ended_;
  if (request.session != 0) {
    source_.finished(request.session, now());
    client_gone_.notify();
  } else if (started_ == ended_) {
    client_gone_.notify();
  }
}

}  // namespace baton::sim
