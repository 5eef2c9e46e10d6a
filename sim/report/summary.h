// Summary: the figures of a run, computed once from its RunResult, for the terminal, for summary.json and for the page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/run_result.h"

namespace baton::sim {

// A time over all requests it exists for, in ms. ITL is over all gaps of all requests.
struct Measure {
  std::string_view name;
  std::uint64_t count = 0;
  double mean = 0.0;
  double ci95 = 0.0;  // half the width of the mean's interval; 0: not known
  double p50 = 0.0;
  double p90 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

// The ranks of one role, together.
struct PoolSummary {
  Role role{};
  std::uint32_t ranks = 0;
  std::uint32_t gpus = 0;
  double busy = 0.0;  // share of the run's time, mean over the ranks
  double busy_min = 0.0;
  double busy_max = 0.0;
  double pages_used_max = 0.0;  // share of the fullest rank's pool
};

struct CostSummary {
  double usd = 0.0;  // of all GPUs for the whole run
  double usd_per_million_output = 0.0;
  double usd_per_million_tokens = 0.0;  // prompt (cached ones too) and output
};

struct Summary {
  double simulated_s = 0.0;
  double speed = 0.0;                // simulated time over real time; 0: not known
  double requests_per_wall_s = 0.0;  // likewise

  double requests_per_s = 0.0;  // that ended well, of simulated time
  double good_per_s = 0.0;
  double good_share = 0.0;
  double good_share_ci95 = 0.0;
  bool slo_met = false;  // at least the objective's percentile of requests is good
  double prompt_tokens_per_s = 0.0;
  double output_tokens_per_s = 0.0;
  double good_output_tokens_per_s = 0.0;

  std::vector<Measure> times;   // TTFT, TPOT, ITL, E2E
  std::vector<Measure> stages;  // in the order of their time
  std::vector<PoolSummary> pools;

  double cache_hits = 0.0;  // share of prompt tokens
  double links_busy = 0.0;  // mean over the links that carried something, of their capacity
  double links_busy_max = 0.0;
  std::string busiest_link;

  double gpu_hours = 0.0;
  std::optional<CostSummary> cost;  // set when every rank has a price

  std::array<double, kCostLayers> by_layer{};  // shares of all steps' time
  double extrapolated = 0.0;
  double communication = 0.0;
};

Summary summarize(const RunResult& result);

// For the terminal: some thirty aligned lines of at most 100 columns.
std::string summary_text(const RunResult& result, const Summary& summary);

// One JSON object; every number as it is, not rounded. Ends with a line end.
std::string summary_json(const RunResult& result, const Summary& summary);

}  // namespace baton::sim
