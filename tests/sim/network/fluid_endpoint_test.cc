// Hand-overs that take the time their bytes need: the endpoint by itself, and beneath a whole node.
#include "sim/network/fluid_endpoint.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "sim/timed_engine.h"
#include "tests/support/toy_world.h"
#include "transport/inmemory/in_memory_hub.h"

using namespace baton;
using namespace baton::sim;
using std::chrono::milliseconds;

namespace {

constexpr RankId kPrefill{Role::prefill, 0};
constexpr RankId kDecode{Role::decode, 0};

KvLayout tiny_layout() {
  KvLayout layout;
  layout.layers = 1;
  layout.kv_heads = 1;
  layout.head_dim = 4;
  layout.page_tokens = 16;
  return layout;
}

NetworkConfig slow_network() {
  NetworkConfig config;
  config.latency = milliseconds(2);
  return config;
}

// One prefill and one decode rank of a TP size of one, with nothing above their endpoints.
struct Bench {
  SimContext context;
  FluidNetwork network;
  Topology topology;
  FluidTransfers transfers{context, network};
  std::vector<WriteSpan> spans;
  FluidWires wires;
  KvArena source{tiny_layout(), 8};
  KvArena target{tiny_layout(), 8};
  InMemoryHub hub{MemoryMode::copying};
  PeerId prefill{kPrefill, {1, 1}};
  PeerId decode{kDecode, {2, 2}};
  std::unique_ptr<Endpoint> prefill_inner;
  std::unique_ptr<Endpoint> decode_inner;
  Endpoint& sender;
  Endpoint& receiver;
  Scope scope{context, "bench"};
  std::optional<Result<>> written;
  TimePoint when{};

  explicit Bench(const NetworkConfig& config, WriteRules rules = {})
      : topology(network, config, {{kPrefill, 0, 0, 1, 1e6}, {kDecode, 1, 0, 1, 1e6}}),
        wires(transfers, topology, std::move(rules), [this](const WriteSpan& span) { spans.push_back(span); }),
        prefill_inner(hub.attach(context, prefill, nullptr)),
        decode_inner(hub.attach(context, decode, &target)),
        sender(wires.decorate(context, *prefill_inner)),
        receiver(wires.decorate(context, *decode_inner)) {
    scope.spawn("network", transfers.run());
  }
  ~Bench() { context.destroy_coroutines(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Task<> write(std::uint32_t pages) {
    const TransferId id{decode.instance, RoomId{5}};
    std::vector<PageRun> runs{PageRun{0, 2, pages}};
    Notice notice = Notice::written(id, prefill, 0, 0, pages);
    KvWrite write(decode, receiver.memory_key(), source.layout().page_bytes(), source.base(), std::move(runs),
                  std::move(notice));
    const Result<> result = co_await sender.write(std::move(write));
    written = result;
    when = context.now();
  }

  void run(std::uint32_t pages) {
    scope.spawn("write", write(pages));
    while (context.step()) {
    }
  }

  double milliseconds_taken() const { return seconds(when.time_since_epoch()) * 1e3; }
};

// Draws the same token always, after some time, and touches no page.
class BlindEngine final : public Engine {
 public:
  explicit BlindEngine(Context& context) : context_(context) {}

  Task<StepOutput> step(StepBatch batch) override {
    co_await pause(context_, milliseconds(1));
    StepOutput output;
    for (const StepSequence& sequence : batch.sequences) {
      if (sequence.sampling != nullptr) {
        output.sampled.emplace_back(SampledToken(3, 0.0F, {}));
      } else {
        output.sampled.emplace_back(std::nullopt);
      }
    }
    co_return output;
  }

  const KvLayout& kv_layout() const noexcept override { return layout_; }
  std::uint32_t vocab_size() const noexcept override { return 10; }
  std::uint32_t context_length() const noexcept override { return 4096; }

 private:
  Context& context_;
  KvLayout layout_ = tiny_layout();
};

// A node of one prefill and one decode rank, whose pages weigh 1 kB each on the network.
class Cluster {
 public:
  explicit Cluster(NetworkConfig config)
      : topology_(network_, config, {{kPrefill, 0, 0, 1, 1e6}, {kDecode, 1, 0, 1, 1e6}}),
        world_(
            node_config(), [](Context& context) { return std::make_unique<BlindEngine>(context); },
            [this](Context& context, Endpoint& inner) -> Endpoint& { return decorate(context, inner); }) {}
  ~Cluster() { world_.context.destroy_coroutines(); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  test::Outcome serve(std::uint32_t prompt_tokens) {
    test::Outcome outcome;
    world_.run(client(prompt_tokens, outcome));
    return outcome;
  }

  test::SimWorld& world() { return world_; }

  std::uint32_t prefill_leased = 0;  // 5 ms after the request
  std::uint32_t decode_leased = 0;

 private:
  static NodeConfig node_config() {
    NodeConfig config = test::small_node();
    config.copying = true;
    config.poison = false;
    return config;
  }

  Endpoint& decorate(Context& context, Endpoint& inner) {
    if (!wires_) {
      transfers_ = std::make_unique<FluidTransfers>(context, network_);
      WriteRules rules;
      rules.page_bytes = 1000;
      wires_ = std::make_unique<FluidWires>(*transfers_, topology_, std::move(rules));
      scope_ = std::make_unique<Scope>(context, "network");
      scope_->spawn("flows", transfers_->run());
    }
    return wires_->decorate(context, inner);
  }

  Task<> client(std::uint32_t prompt_tokens, test::Outcome& outcome) {
    scope_->spawn("look", look());
    GenerationRequest request;
    request.prompt = std::vector<TokenId>(prompt_tokens, 1);
    request.stop.max_tokens = 3;
    outcome = co_await world_.ask(std::move(request));
    co_await pause(world_.context, std::chrono::seconds(1));
    scope_->cancel();
  }

  Task<> look() {
    co_await pause(world_.context, milliseconds(5));
    prefill_leased = world_.node->pool(kPrefill)->leased();
    decode_leased = world_.node->pool(kDecode)->leased();
  }

  FluidNetwork network_;
  Topology topology_;
  std::unique_ptr<FluidTransfers> transfers_;
  std::unique_ptr<FluidWires> wires_;
  std::unique_ptr<Scope> scope_;
  test::SimWorld world_;
};

}  // namespace

TEST_CASE(
    "FluidEndpoint: a write takes latency and bytes over rate, copies nothing and delivers its notice at its end") {
  WriteRules rules;
  rules.page_bytes = 1000;
  Bench bench(slow_network(), std::move(rules));
  bench.target.poison(2);
  bench.run(4);
  REQUIRE(bench.written);
  CHECK(bench.written->has_value());
  CHECK(bench.milliseconds_taken() == doctest::Approx(2 + 4));
  CHECK(bench.target.poisoned(2));
  const std::optional<Notice> notice = test::run(bench.context, bench.receiver.next());
  REQUIRE(notice);
  CHECK(notice->kind == NoticeKind::written);
  CHECK(notice->pages == 4);
  REQUIRE(bench.spans.size() == 1);
  CHECK(bench.spans[0].arrived);
  CHECK(bench.spans[0].room == RoomId{5});
  CHECK(bench.wires.bytes() == 4000);
}

TEST_CASE("FluidEndpoint: without another weight a page weighs what it takes in the arena") {
  Bench bench(slow_network());
  bench.run(2);
  CHECK(bench.wires.bytes() == static_cast<double>(2 * tiny_layout().page_bytes()));
}

TEST_CASE("FluidEndpoint: a writer that is shut out fails with peer_lost at once, and no notice comes") {
  WriteRules rules;
  rules.page_bytes = 1000;
  Bench bench(slow_network(), std::move(rules));
  bench.scope.spawn("write", bench.write(8));
  bench.context.run_until(TimePoint(milliseconds(5)));
  CHECK(bench.network.flows() == 1);
  bench.receiver.fence(bench.prefill);
  while (bench.context.step()) {
  }
  REQUIRE(bench.written);
  CHECK(bench.written->error() == Errc::peer_lost);
  CHECK(bench.milliseconds_taken() == doctest::Approx(5));
  CHECK(bench.network.flows() == 0);
  bench.run(1);  // and later writes fail as well
  CHECK(bench.written->error() == Errc::peer_lost);
  CHECK_FALSE(bench.spans.back().arrived);
  CHECK(bench.wires.bytes() == 0);
}

TEST_CASE("FluidEndpoint: writes to a peer that is lost end at once, and fail at their end if nobody says so") {
  WriteRules rules;
  rules.page_bytes = 1000;
  Bench bench(slow_network(), rules);
  bench.scope.spawn("write", bench.write(8));
  bench.context.run_until(TimePoint(milliseconds(5)));
  bench.wires.lose(bench.decode);
  while (bench.context.step()) {
  }
  CHECK(bench.written->error() == Errc::peer_lost);
  CHECK(bench.milliseconds_taken() == doctest::Approx(5));

  Bench silent(slow_network(), rules);
  silent.scope.spawn("write", silent.write(8));
  silent.context.run_until(TimePoint(milliseconds(5)));
  silent.decode_inner.reset();
  while (silent.context.step()) {
  }
  CHECK(silent.written->error() == Errc::peer_lost);
  CHECK(silent.milliseconds_taken() == doctest::Approx(10));
}

TEST_CASE("FluidEndpoint: layer-wise streaming leaves the last layer's part, or what was too slow to go before") {
  CHECK(streamed_ahead(100, 1000, std::chrono::seconds(1), 4) == doctest::Approx(75));
  CHECK(streamed_ahead(100, 40, std::chrono::seconds(1), 4) == doctest::Approx(30));
  CHECK(streamed_ahead(100, 1000, std::chrono::seconds(1), 1) == 0);
  WriteRules rules;
  rules.page_bytes = 1000;
  rules.layers = 4;
  rules.computing = [](const KvWrite&) -> Duration { return std::chrono::seconds(1); };
  Bench bench(slow_network(), std::move(rules));
  bench.run(8);
  CHECK(bench.milliseconds_taken() == doctest::Approx(2 + 2));
  CHECK(bench.wires.bytes() == 8000);
  CHECK(bench.wires.bytes_ahead() == doctest::Approx(6000));
}

TEST_CASE("FluidEndpoint: a node's hand-over waits for its bytes; without links it is the lower bound") {
  NetworkConfig infinite = slow_network();
  infinite.infinite = true;
  Cluster fast(infinite);
  const test::Outcome bound = fast.serve(64);
  Cluster slow(slow_network());
  const test::Outcome outcome = slow.serve(64);
  REQUIRE(bound.ok());
  REQUIRE(outcome.ok());
  const Timeline& timeline = outcome.finish.timeline;
  CHECK(timeline[Stage::transfer_exposed] == milliseconds(2 + 4));
  CHECK(bound.finish.timeline[Stage::transfer_exposed] == milliseconds(2));
  CHECK(timeline.total - bound.finish.timeline.total == milliseconds(4));
  CHECK(slow.world().drained_after_run);
}

TEST_CASE("FluidEndpoint: while the bytes flow decode's pages are reserved and prefill's are held") {
  Cluster cluster(slow_network());
  const test::Outcome outcome = cluster.serve(64);
  REQUIRE(outcome.ok());
  CHECK(cluster.prefill_leased == 4);
  CHECK(cluster.decode_leased >= 4);
}
