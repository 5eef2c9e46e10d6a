#include "sim/report/summary.h"

#include <algorithm>
#include <map>

namespace baton::sim {
namespace {

constexpr std::array<double, 3> kShares = {0.5, 0.9, 0.99};

double over(double amount, double by) {
  return by > 0.0 ? amount / by : 0.0;
}

Measure measure(std::string_view name, const SampleSet& samples) {
  const std::vector<double> quantiles = samples.quantiles(kShares);
  Measure result;
  result.name = name;
  result.count = samples.size();
  result.mean = samples.mean();
  result.ci95 = samples.confidence95();
  result.p50 = quantiles[0];
  result.p90 = quantiles[1];
  result.p99 = quantiles[2];
  result.max = samples.max();
  return result;
}

Measure measure(std::string_view name, const GapHistogram& gaps) {
  Measure result;
  result.name = name;
  result.count = gaps.count();
  result.mean = milliseconds_of(gaps.mean());
  result.p50 = milliseconds_of(gaps.quantile(kShares[0]));
  result.p90 = milliseconds_of(gaps.quantile(kShares[1]));
  result.p99 = milliseconds_of(gaps.quantile(kShares[2]));
  result.max = milliseconds_of(gaps.max());
  return result;
}

std::vector<PoolSummary> pools_of(const RunResult& result, double run_s) {
  std::map<Role, PoolSummary> pools;
  for (const RankUse& rank : result.ranks) {
    const double busy = over(seconds(rank.busy), run_s);
    const double pages = over(rank.pages_used_max, rank.pages);
    const auto [place, first] = pools.try_emplace(rank.rank.role);
    PoolSummary& pool = place->second;
    pool.role = rank.rank.role;
    pool.ranks += 1;
    pool.gpus += rank.gpus;
    pool.busy += busy;
    pool.busy_min = first ? busy : std::min(pool.busy_min, busy);
    pool.busy_max = std::max(pool.busy_max, busy);
    pool.pages_used_max = std::max(pool.pages_used_max, pages);
  }
  std::vector<PoolSummary> all;
  for (auto& [role, pool] : pools) {
    pool.busy /= pool.ranks;
    all.push_back(pool);
  }
  return all;
}

void add_links(Summary& summary, const RunResult& result) {
  std::size_t used = 0;
  for (const LinkUse& link : result.links) {
    const double busy = over(link.bytes, link.bytes_per_s * summary.simulated_s);
    summary.links_busy += busy;
    used += link.bytes > 0.0 ? 1 : 0;
    if (busy > summary.links_busy_max) {
      summary.links_busy_max = busy;
      summary.busiest_link = link.name;
    }
  }
  summary.links_busy = over(summary.links_busy, static_cast<double>(used));
}

void add_cost(Summary& summary, const RunResult& result) {
  const double hours = summary.simulated_s / 3600.0;
  CostSummary cost;
  bool priced = !result.ranks.empty();
  for (const RankUse& rank : result.ranks) {
    summary.gpu_hours += hours * rank.gpus;
    cost.usd += hours * rank.gpus * rank.usd_per_gpu_hour.value_or(0.0);
    priced = priced && rank.usd_per_gpu_hour;
  }
  const auto output = static_cast<double>(result.requests.output_tokens());
  const auto prompt = static_cast<double>(result.requests.prompt_tokens());
  cost.usd_per_million_output = over(cost.usd * 1e6, output);
  cost.usd_per_million_tokens = over(cost.usd * 1e6, prompt + output);
  if (priced) {
    summary.cost = cost;
  }
}

void add_layers(Summary& summary, const RunResult& result) {
  Duration total{0};
  for (const Duration layer : result.by_layer) {
    total += layer;
  }
  for (std::size_t i = 0; i < kCostLayers; ++i) {
    summary.by_layer[i] = over(seconds(result.by_layer[i]), seconds(total));
  }
  summary.extrapolated = over(seconds(result.extrapolated), seconds(total));
  summary.communication = over(seconds(result.communication), seconds(total));
}

}  // namespace

Summary summarize(const RunResult& result) {
  const RequestTally& requests = result.requests;
  Summary summary;
  const double run_s = seconds(result.simulated);
  const auto per_s = [run_s](std::uint64_t count) { return over(static_cast<double>(count), run_s); };
  summary.simulated_s = run_s;
  summary.speed = over(run_s, result.wall_s);
  summary.requests_per_wall_s = over(static_cast<double>(requests.requests()), result.wall_s);
  summary.requests_per_s = per_s(requests.requests() - requests.failed());
  summary.good_per_s = per_s(requests.good());
  summary.good_share = requests.good_share().mean();
  summary.good_share_ci95 = requests.good_share().confidence95();
  summary.slo_met = summary.good_share * 100.0 >= requests.slo().percentile;
  summary.prompt_tokens_per_s = per_s(requests.prompt_tokens());
  summary.output_tokens_per_s = per_s(requests.output_tokens());
  summary.good_output_tokens_per_s = per_s(requests.good_output_tokens());
  summary.times = {measure("TTFT", requests.ttft()), measure("TPOT", requests.tpot()), measure("ITL", result.gaps),
                   measure("E2E", requests.e2e())};
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    summary.stages.push_back(measure(to_string(stage), requests.stage(stage)));
  }
  summary.pools = pools_of(result, run_s);
  summary.cache_hits =
      over(static_cast<double>(requests.cached_tokens()), static_cast<double>(requests.prompt_tokens()));
  add_links(summary, result);
  add_cost(summary, result);
  add_layers(summary, result);
  return summary;
}

}  // namespace baton::sim
