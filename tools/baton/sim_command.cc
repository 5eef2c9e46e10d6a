#include "tools/baton/sim_command.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "roles/request_log.h"
#include "runtime/errors.h"
#include "sim/calibrate/calibrated_cluster.h"
#include "sim/calibrate/fit_law.h"
#include "sim/calibrate/step_log.h"
#include "sim/cluster/compare_runs.h"
#include "sim/cluster/run_cluster.h"
#include "sim/explorer/progress_line.h"
#include "sim/explorer/signals.h"
#include "sim/report/summary.h"
#include "sim/report/write_report.h"
#include "tools/baton/commit.h"
#include "tools/baton/trace_settings.h"
#include "tools/baton/values.h"
#include "tools/baton/version.h"

namespace baton {
namespace {

constexpr int kExitInterrupted = 130;  // as a shell reports a program that Ctrl-C ended
constexpr std::uint64_t kSeedsMax = 10'000;

std::string progress_text(const sim::RunProgress& progress, double real_s) {
  const double simulated = seconds(progress.simulated);
  return fmt::format("{:.0f} s simulated, {} of {} requests ended, {:.0f} times real time, {:.0f} requests/s",
                     simulated, progress.ended, progress.started, real_s > 0 ? simulated / real_s : 0,
                     real_s > 0 ? static_cast<double>(progress.ended) / real_s : 0);
}

}  // namespace

SimCommand::SimCommand() {
  const std::string what = "What to run";
  table_.add(
      text_setting({"trace", what, "FILE", "the requests: a trace, or a FILE.toml that describes a load"}, trace_));
  table_.add(text_setting({"cluster", what, "FILE", "the cluster, as in examples/clusters/"}, cluster_));
  table_.add(
      flag_setting({"compare", what, "", "run two clusters, A.toml and B.toml, with the same requests"}, compare_));
  table_.add(text_setting(
      {"calibrate", what, "LOG",
       "fit a cost model to the step log of `baton serve --step-log`; prints a cluster file of that server"},
      calibrate_));
  Setting seeds{"seeds",
                what,
                "N",
                "so many runs with seeds that follow each other: for loads and routing that are drawn",
                [this](const std::string& value) { seeds_ = parse_count(value, {1, kSeedsMax}); },
                [this] { return std::to_string(seeds_); }};
  table_.add(std::move(seeds));
  table_.add(flag_setting({"step-by-step", what, "", "take every decode step by itself: slower, with the same result"},
                          step_by_step_));
  const std::string output = "Output";
  table_.add(text_setting(
      {"out", output, "DIR", "write the request log, summary.json, trace.json (ui.perfetto.dev) and report.html there"},
      out_));
  table_.add(
      word_setting({"log", output, "csv|jsonl", "what the request log is written as"}, log_format_, {"csv", "jsonl"}));
  table_.add(flag_setting({"json", output, "", "print the summary as JSON"}, json_));
  options_.drop_failed = true;
  add_trace_settings(table_, options_);
}

Command SimCommand::command() {
  Command command;
  command.name = "sim";
  command.summary = "Replays a trace against a cluster that need not exist, in virtual time";
  command.examples =
      "The cluster runs the router, the queues, the page pools and the hand-over of `baton serve`; only the engines "
      "are\n"
      "a cost model, and the network is a model of shared links. Requests of the trace without an answer are left "
      "out.\n"
      "\n"
      "Examples:\n"
      "  baton sim --trace examples/traces/mooncake_conversation.jsonl.gz --cluster "
      "examples/clusters/llama70b-8p8d.toml\n"
      "  baton sim --trace load.toml --cluster my.toml --out report     then open report/report.html\n"
      "  baton sim --trace load.toml --compare a.toml b.toml --seeds 8  which one is better, and how sure that is\n"
      "  baton sim --calibrate steps.csv > mine.toml                    a cluster file of a server of yours";
  command.positionals = &clusters_;
  command.positional_name = "CLUSTER";
  command.positional_help = "with --compare: two cluster files";
  command.positionals_optional = true;
  command.table = &table_;
  command.run = [this] { return run(); };
  return command;
}

void SimCommand::check() const {
  if (trace_.empty()) {
    throw Error(Errc::invalid_argument, "--trace FILE is needed: what is to be replayed");
  }
  if (compare_ && clusters_.size() != 2) {
    throw Error(Errc::invalid_argument, fmt::format("--compare needs two cluster files, not {}", clusters_.size()));
  }
  if (!compare_ && (cluster_.empty() || !clusters_.empty())) {
    throw Error(Errc::invalid_argument, "--cluster FILE is needed, or --compare with two cluster files");
  }
  if (compare_ && (!cluster_.empty() || !out_.empty())) {
    throw Error(Errc::invalid_argument, "--cluster and --out do not go with --compare");
  }
  if (!compare_ && seeds_ != 1) {
    throw Error(Errc::invalid_argument, "--seeds goes with --compare; one run has one --seed");
  }
  check_trace_settings(table_, options_);
}

int SimCommand::run() {
  if (!calibrate_.empty()) {
    return run_calibrate();
  }
  check();
  return compare_ ? run_compare() : run_one();
}

int SimCommand::run_one() {
  const sim::ClusterSpec spec = sim::read_cluster(cluster_);
  const std::unique_ptr<sim::RequestSource> source = sim::open_trace(trace_, options_);
  std::optional<RequestLog> log;
  if (!out_.empty()) {
    std::filesystem::create_directories(out_);
    log.emplace((std::filesystem::path(out_) / ("requests." + log_format_)).string());
  }
  chaos::Signals signals;
  chaos::ProgressLine line;
  sim::RunOptions options;
  options.seed = options_.seed.value_or(1);
  options.rounds = !step_by_step_;
  options.spans = !out_.empty();
  if (log) {
    options.on_record = [&log](const RequestRecord& record) { log->write(record); };
  }
  options.go_on = [&](const sim::RunProgress& progress) {
    if (line.due()) {
      line.show(progress_text(progress, line.seconds()));
    }
    return !signals.interrupted();
  };
  sim::RunOutcome outcome = sim::run_cluster(spec, *source, options);
  line.clear();
  outcome.result.version = fmt::format("baton {} ({})", kVersion, kCommit);
  outcome.result.trace_name = trace_;
  const sim::Summary summary = sim::summarize(outcome.result);
  if (log) {
    log->close();
    sim::write_report(outcome.result, summary, out_);
  }
  fmt::print("{}", json_ ? sim::summary_json(outcome.result, summary) : sim::summary_text(outcome.result, summary));
  if (!out_.empty() && !json_) {
    fmt::print("wrote {}/report.html, summary.json, trace.json, requests.{}\n", out_, log_format_);
  }
  if (outcome.cut_short) {
    fmt::print(stderr, "Interrupted: the figures are of what had ended by then.\n");
    return kExitInterrupted;
  }
  return kExitOk;
}

int SimCommand::run_calibrate() {
  if (!trace_.empty() || !cluster_.empty() || compare_) {
    throw Error(Errc::invalid_argument, "--calibrate fits a log and runs nothing: no --trace, --cluster, --compare");
  }
  const sim::StepLog log = sim::read_step_log(calibrate_);
  const auto fits = sim::fit_laws(log);
  for (const auto& [role, fit] : fits) {
    fmt::print(stderr, "{}: {} steps, {:.1f} % off on average; {} held out, {:.1f} % off, their sum {:+.1f} %\n",
               to_string(role), fit.steps, 100 * fit.error, fit.held_out, 100 * fit.held_out_error,
               100 * (fit.total_ratio - 1));
  }
  fmt::print("{}", sim::calibrated_cluster(log, fits));
  return kExitOk;
}

int SimCommand::run_compare() {
  chaos::Signals signals;
  chaos::ProgressLine line;
  sim::CompareOptions options;
  options.first_seed = options_.seed.value_or(1);
  options.seeds = seeds_;
  options.open = [this](std::uint64_t seed) {
    sim::TraceOptions trace = options_;
    trace.seed = seed;
    return sim::open_trace(trace_, trace);
  };
  options.go_on = [&](const sim::RunProgress& progress) {
    if (line.due()) {
      line.show(progress_text(progress, line.seconds()));
    }
    return !signals.interrupted();
  };
  const std::optional<sim::Comparison> comparison =
      sim::compare_runs(sim::read_cluster(clusters_[0]), sim::read_cluster(clusters_[1]), options);
  line.clear();
  if (!comparison) {
    fmt::print(stderr, "Interrupted.\n");
    return kExitInterrupted;
  }
  fmt::print("{}", json_ ? sim::comparison_json(*comparison) : sim::comparison_text(*comparison));
  return kExitOk;
}

}  // namespace baton
