#include "roles/local_node.h"

#include <utility>

#include "runtime/scope.h"

namespace baton {

struct LocalNode::Rank {
  RealContext context;
  std::unique_ptr<Engine> engine;
  std::thread thread;
};

namespace {

// A rank thread's life: the rank's task, until it returns.
void run_context(RealContext& context, Node& node, RankId rank,
                 const std::function<void(std::exception_ptr)>& on_fault) {
  try {
    Scope scope(context, to_string(rank));
    {
      const Context::Inside inside(context);
      scope.spawn("run", node.run_rank(rank));
    }
    context.stop();  // run() still works until the rank's task has ended
    context.run();
    scope.rethrow_error();
  } catch (...) {
    on_fault(std::current_exception());
  }
}

}  // namespace

LocalNode::LocalNode(RealContext& front, std::function<std::unique_ptr<Engine>(RankId)> engine, NodeConfig config,
                     TextRules rules, MetricsRegistry& metrics,
                     std::function<Endpoint&(Context&, Endpoint&)> decorate) {
  const auto rank = [this, engine = std::move(engine)](RankId id) -> Rank& {
    std::unique_ptr<Rank>& slot = ranks_[id];
    if (!slot) {
      slot = std::make_unique<Rank>();
      slot->engine = engine(id);
    }
    return *slot;
  };
  NodeWorld world{front, [rank](RankId id) -> Context& { return rank(id).context; },
                  [rank](RankId id) -> Engine& { return *rank(id).engine; }, metrics, std::move(decorate)};
  node_ = std::make_unique<Node>(std::move(world), std::move(config), std::move(rules));
}

LocalNode::~LocalNode() {
  join();
}

RealContext& LocalNode::context(RankId rank) {
  return ranks_.at(rank)->context;
}

void LocalNode::start(std::function<void(std::exception_ptr)> on_fault) {
  for (auto& entry : ranks_) {
    const RankId rank = entry.first;
    RealContext& context = entry.second->context;
    entry.second->thread =
        std::thread([this, rank, &context, on_fault] { run_context(context, *node_, rank, on_fault); });
  }
  node_->router().open_for_work();
}

void LocalNode::join() {
  for (auto& [id, rank] : ranks_) {
    if (rank->thread.joinable()) {
      rank->thread.join();
    }
  }
}

}  // namespace baton
