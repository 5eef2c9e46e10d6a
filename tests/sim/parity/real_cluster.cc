#include "tests/sim/parity/real_cluster.h"

#include <utility>

#include "runtime/sleep.h"
#include "sim/workload/page_keys.h"

namespace baton::sim {
namespace {

constexpr std::size_t kHistoryEvents = 1U << 20;  // of each rank: more than a test makes

NodeConfig real_config(const ClusterPlan& plan) {
  NodeConfig config = node_config(plan);
  config.trace_events = kHistoryEvents;
  return config;
}

}  // namespace

RealCluster::RealCluster(const ClusterPlan& plan, std::function<std::unique_ptr<Engine>(RankId)> engine, Gate* writes)
    : plan_(plan),
      node_(
          front_,
          [this, engine = std::move(engine)](RankId rank) {
            std::unique_ptr<Engine> made = engine(rank);
            vocab_ = made->vocab_size();
            return made;
          },
          real_config(plan), TextRules{}, metrics_,
          [this, writes](Context&, Endpoint& inner) -> Endpoint& {
            return writes != nullptr ? endpoints_.emplace_back(inner, *writes) : inner;
          }),
      changed_(front_, "clients"),
      life_(front_, "cluster"),
      clients_(front_, "clients") {}

RealCluster::~RealCluster() = default;

// A fault of a rank's leaves its thread, which ends the program: nothing could be said of the run.
void RealCluster::start(std::function<void(const RequestRecord&)> on_record) {
  on_record_ = std::move(on_record);
  node_.start([](std::exception_ptr fault) { std::rethrow_exception(std::move(fault)); });
  {
    const Context::Inside inside(front_);
    life_.spawn("life", live());
  }
  epoch_ = front_.now();
  thread_ = std::thread([this] {
    front_.stop();  // run() still works until the last coroutine has ended
    front_.run();
  });
}

bool RealCluster::finish() {
  front_.post([this] {
    all_sent_ = true;
    changed_.notify();
  });
  thread_.join();
  life_.rethrow_error();
  node_.stop();
  node_.join();
  return node_.node().drained();
}

void RealCluster::arrive(TraceRequest request) {
  front_.post([this, request = std::move(request)]() mutable { begin(std::move(request)); });
}

void RealCluster::arrive_in_time(std::vector<TraceRequest> requests) {
  front_.post(
      [this, requests = std::move(requests)]() mutable { clients_.spawn("arrivals", arrivals(std::move(requests))); });
}

std::vector<RealContext*> RealCluster::contexts() {
  std::vector<RealContext*> all = {&front_};
  for (const RankId rank : node_.node().ranks()) {
    all.push_back(&node_.context(rank));
  }
  return all;
}

Task<> RealCluster::live() {
  Scope scope(front_, "front");
  scope.spawn("routers", node_.node().run_front());
  scope.spawn("rest", rest());
  co_await scope.join();
}

Task<> RealCluster::rest() {
  while (!all_sent_) {
    co_await changed_.wait();
  }
  co_await clients_.join();
  node_.router().stop();
}

Task<> RealCluster::arrivals(std::vector<TraceRequest> requests) {
  epoch_ = front_.now();
  for (TraceRequest& request : requests) {
    co_await sleep_until(front_, epoch_ + request.arrival);
    begin(std::move(request));
  }
}

void RealCluster::begin(TraceRequest request) {
  clients_.spawn("client", client(std::move(request)));
}

Task<> RealCluster::client(TraceRequest request) {
  RecordBuilder record(request.id, request.input_tokens, front_.now(), epoch_);
  const std::unique_ptr<Generation> generation =
      node_.router().start(to_generation(plan_, request, ++started_, prompt_of(request)));
  while (std::optional<GenerationEvent> event = co_await generation->next()) {
    if (std::holds_alternative<TokenEvent>(*event)) {
      record.token(front_.now());
    } else {
      on_record_(record.finish(std::get<FinishEvent>(*event), front_.now()));
    }
  }
}

// Equal blocks of the trace give equal tokens.
Prompt RealCluster::prompt_of(const TraceRequest& request) const {
  std::vector<TokenId> tokens(request.input_tokens);
  for (std::uint32_t i = 0; i < request.input_tokens; ++i) {
    const std::uint64_t block = request.block_tokens > 0 ? request.blocks.at(i / request.block_tokens) : 0;
    tokens[i] = static_cast<TokenId>(chained(block, i) % vocab_);
  }
  return tokens;
}

}  // namespace baton::sim
