// The summary for the terminal.
#include <iterator>

#include <fmt/format.h>

#include "sim/report/summary.h"
#include "sim/report/units.h"

namespace baton::sim {
namespace {

using Out = std::back_insert_iterator<std::string>;

template <class... Values>
void line(std::string& text, std::string_view name, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(Out(text), "{:<10}", name);
  fmt::format_to(Out(text), format, std::forward<Values>(values)...);
  text += '\n';
}

void add_head(std::string& text, const RunResult& result, const Summary& summary) {
  fmt::format_to(Out(text), "{} on {} (configuration {}, seed {})\n", result.trace_name, result.cluster_name,
                 result.configuration_hash, result.seed);
  line(text, "run", "{} requests in {}", count_text(static_cast<double>(result.requests.requests())),
       time_text(summary.simulated_s));
  if (summary.speed > 0.0) {
    text.pop_back();
    fmt::format_to(Out(text), "; took {}: {} times real time, {} requests/s\n", time_text(result.wall_s),
                   count_text(summary.speed), count_text(summary.requests_per_wall_s));
  }
}

void add_measure(std::string& text, const Measure& measure) {
  if (measure.count == 0) {
    return;
  }
  const std::string interval = measure.ci95 > 0.0 ? significant(measure.ci95) : "";
  fmt::format_to(Out(text), "{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", measure.name, significant(measure.mean),
                 interval, significant(measure.p50), significant(measure.p90), significant(measure.p99),
                 significant(measure.max));
}

void add_times(std::string& text, const Summary& summary) {
  fmt::format_to(Out(text), "\n{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "ms", "mean", "+-95 %", "p50", "p90",
                 "p99", "max");
  for (const Measure& measure : summary.times) {
    add_measure(text, measure);
  }
  for (const Measure& measure : summary.stages) {
    add_measure(text, measure);
  }
  text += '\n';
}

std::string slo_text(const Slo& slo) {
  std::string text;
  const auto add = [&text](const char* name, const std::optional<double>& limit) {
    if (limit) {
      text += fmt::format("{}{} {} ms", text.empty() ? "" : ", ", name, significant(*limit));
    }
  };
  add("TTFT", slo.ttft_ms);
  add("TPOT", slo.tpot_ms);
  add("E2E", slo.e2e_ms);
  return text;
}

void add_goodput(std::string& text, const RunResult& result, const Summary& summary) {
  const Slo& slo = result.requests.slo();
  if (slo.any()) {
    const std::string interval =
        summary.good_share_ci95 > 0.0 ? fmt::format(" +- {:.1f}", summary.good_share_ci95 * 100.0) : "";
    line(text, "goodput", "{} requests/s, {}{} within {}; objective {} %: {}", significant(summary.good_per_s),
         percent_text(summary.good_share), interval, slo_text(slo), slo.percentile, summary.slo_met ? "met" : "missed");
  }
  line(text, "served", "{} requests/s, {} prompt and {} output tokens/s", significant(summary.requests_per_s),
       count_text(summary.prompt_tokens_per_s), count_text(summary.output_tokens_per_s));
  if (result.requests.failed() > 0) {
    std::string failures;
    for (const auto& [code, count] : result.requests.failures()) {
      failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", count, code);
    }
    line(text, "failed", "{} requests: {}", count_text(static_cast<double>(result.requests.failed())), failures);
  }
  if (result.requests.retractions() > 0) {
    line(text, "retracted", "{} times", count_text(static_cast<double>(result.requests.retractions())));
  }
}

void add_use(std::string& text, const RunResult& result, const Summary& summary) {
  for (const PoolSummary& pool : summary.pools) {
    line(text, to_string(pool.role), "{} busy ({} to {}), {} ranks, {} GPUs{}", percent_text(pool.busy),
         percent_text(pool.busy_min), percent_text(pool.busy_max), pool.ranks, pool.gpus,
         pool.pages_used_max > 0.0 ? fmt::format(", fullest pool {}", percent_text(pool.pages_used_max)) : "");
  }
  if (result.network_bytes > 0.0) {
    line(text, "network", "{} moved{}", bytes_text(result.network_bytes),
         result.network_bytes_ahead > 0.0 ? fmt::format(", {} of it while steps computed",
                                                        percent_text(result.network_bytes_ahead / result.network_bytes))
                                          : "");
  }
  if (!summary.busiest_link.empty()) {
    line(text, "links", "{} of capacity, the busiest {} ({})", percent_text(summary.links_busy),
         percent_text(summary.links_busy_max), summary.busiest_link);
  }
  if (result.requests.cached_tokens() > 0) {
    line(text, "cache", "{} of prompt tokens", percent_text(summary.cache_hits));
  }
}

void add_cost(std::string& text, const Summary& summary) {
  if (summary.cost) {
    line(text, "cost", "{} USD per million tokens, {} per million output tokens; {} GPU hours, {} USD",
         significant(summary.cost->usd_per_million_tokens), significant(summary.cost->usd_per_million_output),
         significant(summary.gpu_hours), significant(summary.cost->usd));
  } else if (summary.gpu_hours > 0.0) {
    line(text, "cost", "{} GPU hours; no prices given", significant(summary.gpu_hours));
  }
  double known = 0.0;
  std::string layers;
  for (std::size_t i = 0; i < kCostLayers; ++i) {
    known += summary.by_layer[i];
    layers += fmt::format("{}{} {}", i == 0 ? "" : ", ", percent_text(summary.by_layer[i]),
                          to_string(static_cast<CostLayer>(i)));
  }
  if (known > 0.0) {
    line(text, "step time", "{}; {} outside a measured grid, {} in collectives", layers,
         percent_text(summary.extrapolated), percent_text(summary.communication));
  }
}

}  // namespace

std::string summary_text(const RunResult& result, const Summary& summary) {
  std::string text;
  add_head(text, result, summary);
  add_times(text, summary);
  add_goodput(text, result, summary);
  add_use(text, result, summary);
  add_cost(text, summary);
  for (const std::string& warning : result.warnings) {
    line(text, "warning", "{}", warning);
  }
  return text;
}

}  // namespace baton::sim
