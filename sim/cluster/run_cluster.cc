#include "sim/cluster/run_cluster.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "sim/cluster/cluster_world.h"
#include "sim/cluster/plan_cluster.h"

namespace baton::sim {
namespace {

Slo slo_of(const SloSpec& spec) {
  Slo slo;
  if (spec.ttft > Duration::zero()) {
    slo.ttft_ms = milliseconds_of(spec.ttft);
  }
  if (spec.tpot > Duration::zero()) {
    slo.tpot_ms = milliseconds_of(spec.tpot);
  }
  return slo;
}

// Takes what clients see into the result.
class Recorder final : public ReplaySink {
 public:
  Recorder(RunResult& result, const RunOptions& options) : result_(result), options_(options) {}

  void tokens(TimePoint before, std::span<const TimePoint> ends) override {
    for (const TimePoint end : ends) {
      result_.gaps.add(end - std::exchange(before, end));
    }
  }

  void ended(const TraceRequest&, const RequestRecord& record) override {
    result_.requests.add(record);
    if (options_.on_record) {
      options_.on_record(record);
    }
  }

 private:
  RunResult& result_;
  const RunOptions& options_;
};

// Keeps the bars of steps and transfers, as many as a trace may have.
class SpanKeeper final {
 public:
  explicit SpanKeeper(RunResult& result) : result_(result) {}

  void step(RankId rank, const StepSpan& span) {
    const TrackKind kind = rank.role == Role::prefill ? TrackKind::prefill : TrackKind::decode;
    keep({track(kind, to_string(rank)), "step", span.began, span.length, 0, span.tokens});
  }

  void write(const WriteSpan& span) {
    const std::string name = to_string(span.from) + " to " + to_string(span.to);
    keep({track(TrackKind::link, name), "transfer", span.began, span.ended - span.began, span.room.value,
          static_cast<std::uint64_t>(span.bytes)});
  }

 private:
  std::uint32_t track(TrackKind kind, const std::string& name) {
    const auto [found, made] = tracks_.try_emplace(name, static_cast<std::uint32_t>(result_.tracks.size()));
    if (made) {
      result_.tracks.push_back({kind, name});
    }
    return found->second;
  }

  void keep(TrackSpan span) {
    if (result_.spans.size() < kSpansMax) {
      result_.spans.push_back(span);
    } else {
      ++result_.spans_left_out;
    }
  }

  RunResult& result_;
  std::map<std::string, std::uint32_t> tracks_;
};

void fill_ranks(const ClusterSpec& spec, const ClusterWorld& world, RunResult& result) {
  for (const auto& [rank, account] : world.accounts()) {
    const PoolSpec& pool = spec.pool_of(rank);
    RankUse use;
    use.rank = rank;
    use.gpus = pool.setup.parallel.rank_gpus();
    if (const auto price = spec.usd_per_gpu_hour.find(pool.hardware); price != spec.usd_per_gpu_hour.end()) {
      use.usd_per_gpu_hour = price->second;
    }
    use.busy = account.busy;
    use.steps = account.steps;
    use.prompt_tokens = account.prefill_tokens;
    use.output_tokens = account.decode_tokens;
    use.pages = world.node().pool(rank)->capacity();
    const auto& used = world.sampler().pages_used_max();
    use.pages_used_max = used.contains(rank) ? used.at(rank) : 0;
    result.ranks.push_back(use);
    for (std::size_t i = 0; i < kCostLayers; ++i) {
      result.by_layer[i] += account.by_layer[i];
    }
    result.extrapolated += account.extrapolated;
    result.communication += account.communication;
  }
}

void fill_links(ClusterWorld& world, RunResult& result) {
  FluidNetwork& network = world.network();
  const TimePoint end = TimePoint{} + world.now();
  network.advance(end);
  for (LinkIndex link = 0; link < network.links(); ++link) {
    result.links.push_back(
        {network.link_name(link), network.capacity(link), network.carried(link, end), network.in_use(link, end)});
  }
  if (const FluidWires* wires = world.wires()) {
    result.network_bytes = wires->bytes();
    result.network_bytes_ahead = wires->bytes_ahead();
  }
}

}  // namespace

RunOutcome run_cluster(const ClusterSpec& spec, RequestSource& source, const RunOptions& options) {
  PlannedCluster planned = plan_cluster(spec, options.seed);
  RunOutcome outcome;
  RunResult& result = outcome.result;
  result.requests = RequestTally(slo_of(spec.slo));
  result.cluster_name = spec.name;
  result.configuration = spec.effective();
  result.configuration_hash = spec.hash();
  result.seed = options.seed;
  result.warnings = std::move(planned.warnings);
  Recorder recorder(result, options);
  SpanKeeper spans(result);
  ReplayOptions replay;
  replay.rounds = options.rounds;
  replay.sample_period = options.sample_period;
  if (options.spans) {
    replay.on_step = [&spans](RankId rank, const StepSpan& span) { spans.step(rank, span); };
    replay.on_write = [&spans](const WriteSpan& span) { spans.write(span); };
  }
  const auto real_now = [] { return std::chrono::steady_clock::now(); };
  const auto began = real_now();
  ClusterWorld world(std::move(planned.plan), source, recorder, replay);
  if (options.go_on) {
    world.ask([&options, &world] { return options.go_on({world.now(), world.started(), world.ended()}); });
  }
  world.run();
  result.wall_s = std::chrono::duration<double>(real_now() - began).count();
  result.began = world.first_arrival();
  result.simulated = TimePoint{} + world.now() - result.began;
  fill_ranks(spec, world, result);
  fill_links(world, result);
  result.samples = world.sampler().samples();
  outcome.cut_short = world.cut_short();
  return outcome;
}

}  // namespace baton::sim
