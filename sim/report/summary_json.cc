// The summary as JSON. Names carry their units; shares are 0 to 1.
#include "roles/http/json_writer.h"
#include "sim/report/summary.h"

namespace baton::sim {
namespace {

void member(JsonWriter& json, std::string_view name, double value) {
  json.key(name).number(value);
}

void member(JsonWriter& json, std::string_view name, std::uint64_t value) {
  json.key(name).number(value);
}

void member(JsonWriter& json, std::string_view name, const std::string& value) {
  json.key(name).string(value);
}

void add_measure(JsonWriter& json, const Measure& measure) {
  json.key(measure.name).begin_object();
  member(json, "count", measure.count);
  member(json, "mean", measure.mean);
  member(json, "ci95", measure.ci95);
  member(json, "p50", measure.p50);
  member(json, "p90", measure.p90);
  member(json, "p99", measure.p99);
  member(json, "max", measure.max);
  json.end_object();
}

void add_run(JsonWriter& json, const RunResult& result, const Summary& summary) {
  member(json, "version", result.version);
  member(json, "trace", result.trace_name);
  member(json, "cluster", result.cluster_name);
  member(json, "configuration_hash", result.configuration_hash);
  member(json, "seed", result.seed);
  member(json, "simulated_s", summary.simulated_s);
  member(json, "wall_s", result.wall_s);
  member(json, "speed", summary.speed);
  member(json, "requests_per_wall_s", summary.requests_per_wall_s);
}

void add_requests(JsonWriter& json, const RunResult& result, const Summary& summary) {
  const RequestTally& requests = result.requests;
  member(json, "requests", requests.requests());
  member(json, "failed", requests.failed());
  json.key("failures").begin_object();
  for (const auto& [code, count] : requests.failures()) {
    member(json, code, count);
  }
  json.end_object();
  member(json, "prompt_tokens", requests.prompt_tokens());
  member(json, "cached_tokens", requests.cached_tokens());
  member(json, "output_tokens", requests.output_tokens());
  member(json, "retractions", requests.retractions());
  member(json, "requests_per_s", summary.requests_per_s);
  member(json, "prompt_tokens_per_s", summary.prompt_tokens_per_s);
  member(json, "output_tokens_per_s", summary.output_tokens_per_s);
  member(json, "cache_hits", summary.cache_hits);
}

void add_slo(JsonWriter& json, const RunResult& result, const Summary& summary) {
  const Slo& slo = result.requests.slo();
  const auto limit = [&json](std::string_view name, const std::optional<double>& value) {
    json.key(name);
    value ? json.number(*value) : json.null();
  };
  json.key("slo").begin_object();
  limit("ttft_ms", slo.ttft_ms);
  limit("tpot_ms", slo.tpot_ms);
  limit("e2e_ms", slo.e2e_ms);
  member(json, "percentile", slo.percentile);
  json.key("met").boolean(summary.slo_met);
  member(json, "good", result.requests.good());
  member(json, "good_share", summary.good_share);
  member(json, "good_share_ci95", summary.good_share_ci95);
  member(json, "good_per_s", summary.good_per_s);
  member(json, "good_output_tokens_per_s", summary.good_output_tokens_per_s);
  json.end_object();
}

void add_pools(JsonWriter& json, const Summary& summary) {
  json.key("pools").begin_array();
  for (const PoolSummary& pool : summary.pools) {
    json.begin_object();
    member(json, "role", std::string(to_string(pool.role)));
    member(json, "ranks", std::uint64_t{pool.ranks});
    member(json, "gpus", std::uint64_t{pool.gpus});
    member(json, "busy", pool.busy);
    member(json, "busy_min", pool.busy_min);
    member(json, "busy_max", pool.busy_max);
    member(json, "pages_used_max", pool.pages_used_max);
    json.end_object();
  }
  json.end_array();
}

void add_ranks(JsonWriter& json, const RunResult& result, const Summary& summary) {
  json.key("ranks").begin_array();
  for (const RankUse& rank : result.ranks) {
    json.begin_object();
    member(json, "name", to_string(rank.rank));
    member(json, "gpus", std::uint64_t{rank.gpus});
    member(json, "busy", summary.simulated_s > 0.0 ? seconds(rank.busy) / summary.simulated_s : 0.0);
    member(json, "steps", rank.steps);
    member(json, "prompt_tokens", rank.prompt_tokens);
    member(json, "output_tokens", rank.output_tokens);
    member(json, "pages", std::uint64_t{rank.pages});
    member(json, "pages_used_max", std::uint64_t{rank.pages_used_max});
    json.end_object();
  }
  json.end_array();
}

void add_network(JsonWriter& json, const RunResult& result, const Summary& summary) {
  json.key("network").begin_object();
  member(json, "bytes", result.network_bytes);
  member(json, "bytes_ahead", result.network_bytes_ahead);
  member(json, "links_busy", summary.links_busy);
  member(json, "links_busy_max", summary.links_busy_max);
  member(json, "busiest_link", summary.busiest_link);
  json.key("links").begin_array();
  for (const LinkUse& link : result.links) {
    json.begin_object();
    member(json, "name", link.name);
    member(json, "bytes_per_s", link.bytes_per_s);
    member(json, "bytes", link.bytes);
    member(json, "in_use_s", seconds(link.in_use));
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void add_cost(JsonWriter& json, const Summary& summary) {
  member(json, "gpu_hours", summary.gpu_hours);
  json.key("cost");
  if (summary.cost) {
    json.begin_object();
    member(json, "usd", summary.cost->usd);
    member(json, "usd_per_million_tokens", summary.cost->usd_per_million_tokens);
    member(json, "usd_per_million_output_tokens", summary.cost->usd_per_million_output);
    json.end_object();
  } else {
    json.null();
  }
  json.key("step_time").begin_object();
  for (std::size_t i = 0; i < kCostLayers; ++i) {
    member(json, to_string(static_cast<CostLayer>(i)), summary.by_layer[i]);
  }
  member(json, "extrapolated", summary.extrapolated);
  member(json, "communication", summary.communication);
  json.end_object();
}

}  // namespace

std::string summary_json(const RunResult& result, const Summary& summary) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  add_run(json, result, summary);
  add_requests(json, result, summary);
  json.key("ms").begin_object();
  for (const Measure& measure : summary.times) {
    add_measure(json, measure);
  }
  for (const Measure& measure : summary.stages) {
    add_measure(json, measure);
  }
  json.end_object();
  add_slo(json, result, summary);
  add_pools(json, summary);
  add_ranks(json, result, summary);
  add_network(json, result, summary);
  add_cost(json, summary);
  json.key("warnings").begin_array();
  for (const std::string& warning : result.warnings) {
    json.string(warning);
  }
  json.end_array();
  member(json, "configuration", result.configuration);
  json.end_object();
  text += '\n';
  return text;
}

}  // namespace baton::sim
