#include "sim/cluster/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "sim/report/summary.h"

namespace baton::sim {
namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Figure {
  std::string name;
  std::string unit;
  double value = 0;
};

std::vector<Figure> figures_of(const RunResult& result, const Summary& summary) {
  std::vector<Figure> figures;
  for (const Measure& measure : summary.times) {
    const std::string name(measure.name);
    figures.push_back({name + " mean", "ms", measure.mean});
    figures.push_back({name + " p50", "ms", measure.p50});
    figures.push_back({name + " p99", "ms", measure.p99});
  }
  figures.push_back({"requests", "1/s", summary.requests_per_s});
  if (result.requests.slo().any()) {
    figures.push_back({"goodput", "1/s", summary.good_per_s});
    figures.push_back({"good share", "%", 100 * summary.good_share});
  }
  figures.push_back({"failed", "", static_cast<double>(result.requests.failed())});
  figures.push_back({"output tokens", "1/s", summary.output_tokens_per_s});
  for (const PoolSummary& pool : summary.pools) {
    figures.push_back({fmt::format("{} busy", to_string(pool.role)), "%", 100 * pool.busy});
  }
  figures.push_back({"cache hits", "%", 100 * summary.cache_hits});
  if (summary.cost) {
    figures.push_back({"cost per million output tokens", "USD", summary.cost->usd_per_million_output});
  }
  return figures;
}

std::optional<std::vector<Figure>> figures_of_run(const ClusterSpec& spec, std::uint64_t seed,
                                                  const CompareOptions& options) {
  const std::unique_ptr<RequestSource> source = options.open(seed);
  RunOptions run;
  run.seed = seed;
  run.go_on = options.go_on;
  const RunOutcome outcome = run_cluster(spec, *source, run);
  if (outcome.cut_short) {
    return std::nullopt;
  }
  return figures_of(outcome.result, summarize(outcome.result));
}

// Figures that only one of them has are left out: a pool that the other lacks, a price.
void add_pair(std::vector<ComparedMeasure>& measures, const std::vector<Figure>& a, const std::vector<Figure>& b) {
  for (const Figure& one : a) {
    const auto same = [&one](const auto& other) { return other.name == one.name; };
    const auto other = std::find_if(b.begin(), b.end(), same);
    if (other == b.end()) {
      continue;
    }
    auto found = std::find_if(measures.begin(), measures.end(), same);
    if (found == measures.end()) {
      found = measures.insert(measures.end(), ComparedMeasure{one.name, one.unit, {}, {}});
    }
    found->a.push_back(one.value);
    found->b.push_back(other->value);
  }
}

}  // namespace

double ComparedMeasure::mean_a() const noexcept {
  return mean(a);
}

double ComparedMeasure::mean_b() const noexcept {
  return mean(b);
}

std::optional<double> ComparedMeasure::difference_ci95() const {
  const std::size_t n = a.size();
  if (n < 2) {
    return std::nullopt;
  }
  const double centre = mean_b() - mean_a();
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    squares += std::pow(b[i] - a[i] - centre, 2);
  }
  const auto count = static_cast<double>(n);
  const double deviation = std::sqrt(squares / (count - 1));
  const boost::math::students_t_distribution<double> student(count - 1);
  return boost::math::quantile(boost::math::complement(student, 0.025)) * deviation / std::sqrt(count);
}

std::optional<Comparison> compare_runs(const ClusterSpec& a, const ClusterSpec& b, const CompareOptions& options) {
  Comparison comparison{a.name, b.name, a.hash(), b.hash(), options.seeds, {}};
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const std::uint64_t seed = options.first_seed + i;
    const auto of_a = figures_of_run(a, seed, options);
    const auto of_b = of_a ? figures_of_run(b, seed, options) : std::nullopt;
    if (!of_b) {
      return std::nullopt;
    }
    add_pair(comparison.measures, *of_a, *of_b);
  }
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text =
      fmt::format("A  {}  (configuration {})\nB  {}  (configuration {})\n{} with the same requests\n\n",
                  comparison.name_a, comparison.hash_a, comparison.name_b, comparison.hash_b,
                  comparison.pairs == 1 ? "one pair of runs" : fmt::format("{} pairs of runs", comparison.pairs));
  text += fmt::format("{:<36}{:>14}{:>14}{:>9}  {}\n", "", "A", "B", "B/A",
                      comparison.pairs > 1 ? "B - A, 95 % interval" : "");
  for (const ComparedMeasure& measure : comparison.measures) {
    const double of_a = measure.mean_a();
    const double of_b = measure.mean_b();
    const std::string ratio = of_a != 0 ? fmt::format("{:.3f}", of_b / of_a) : "-";
    std::string interval;
    if (const std::optional<double> half = measure.difference_ci95()) {
      const double difference = of_b - of_a;
      const bool sure = std::abs(difference) > *half;
      interval = fmt::format("{:+.3f} +- {:.3f}{}", difference, *half, sure ? "" : "  no difference shown");
    }
    const std::string name = measure.unit.empty() ? measure.name : measure.name + ", " + measure.unit;
    text += fmt::format("{:<36}{:>14.3f}{:>14.3f}{:>9}  {}\n", name, of_a, of_b, ratio, interval);
  }
  if (comparison.pairs == 1) {
    text += "\nOne pair says nothing of chance: --seeds N makes more.\n";
  }
  return text;
}

std::string comparison_json(const Comparison& comparison) {
  boost::json::object root;
  root["a"] = {{"name", comparison.name_a}, {"configuration_hash", comparison.hash_a}};
  root["b"] = {{"name", comparison.name_b}, {"configuration_hash", comparison.hash_b}};
  root["pairs"] = comparison.pairs;
  boost::json::object& measures = root["measures"].emplace_object();
  for (const ComparedMeasure& measure : comparison.measures) {
    boost::json::object one;
    one["unit"] = measure.unit;
    one["a"] = measure.mean_a();
    one["b"] = measure.mean_b();
    if (const std::optional<double> half = measure.difference_ci95()) {
      one["difference_ci95"] = *half;
    }
    measures[measure.name] = std::move(one);
  }
  return boost::json::serialize(root) + "\n";
}

}  // namespace baton::sim
