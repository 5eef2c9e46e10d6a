#include "tools/baton/chaos_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "kernels/cpu_count.h"
#include "runtime/errors.h"
#include "runtime/trace.h"
#include "sim/explorer/explore.h"
#include "sim/explorer/progress_line.h"
#include "sim/explorer/replay.h"
#include "sim/explorer/script.h"
#include "sim/explorer/shrink.h"
#include "sim/explorer/signals.h"
#include "sim/explorer/tally.h"
#include "tools/baton/commit.h"
#include "tools/baton/trace_file.h"
#include "tools/baton/version.h"

namespace baton {
namespace {

using namespace chaos;

constexpr int kExitInterrupted = 130;  // as a shell reports a program that Ctrl-C ended
// A run takes milliseconds; one that takes so much longer will not end. The search itself is more patient.
constexpr auto kShrinkRunLimit = std::chrono::seconds(5);

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    throw Error(Errc::internal, fmt::format("cannot write {}", path));
  }
}

std::string in_words(const Finding& finding) {
  return fmt::format("rule \"{}\": {}", finding.rule, finding.message);
}

// One call of the command.
class Session final {
 public:
  Session(const ChaosSettings& settings, const SettingTable& table, const RunFunction& run)
      : settings_(settings), table_(table), run_(run), profile_(profile_of(table, settings)) {}

  int search() {
    ProgressLine line;
    ExploreOptions options;
    options.first = settings_.from;
    options.seeds = settings_.seeds;
    const std::uint64_t jobs = settings_.jobs == 0 ? kernels::usable_cpus() : settings_.jobs;
    options.jobs = static_cast<unsigned>(std::min(jobs, settings_.seeds));
    options.digests = settings_.digest;
    options.progress = [&](const Tally& tally) { line.show(progress_text(tally, settings_.seeds, line.seconds())); };
    const Exploration found = explore(options, draw(), run_);
    line.clear();
    for (std::size_t i = 0; i < found.digests.size(); ++i) {
      fmt::print("{} {:016x}\n", settings_.from + i, found.digests[i]);
    }
    fmt::print(stderr, "{}", summary_text(found.tally, line.seconds()));
    if (settings_.coverage) {
      fmt::print("{}", coverage_text(found.tally.coverage));
    }
    if (found.finding) {
      show_failure(found.seed, *found.finding);
      return kExitFailed;
    }
    if (found.interrupted) {
      fmt::print(stderr, "Interrupted.\n");
      return kExitInterrupted;
    }
    fmt::print("no rule was broken\n");
    return kExitOk;
  }

  int one_run() {
    const bool scripted = table_.given("script");
    const Scenario scenario = scripted ? read_script(settings_.script) : draw_scenario(profile_, settings_.replay);
    ReplayOptions options;
    if (table_.given("request")) {
      options.request = settings_.request;
      if (std::ranges::find(scenario.clients, settings_.request, &ClientPlan::index) == scenario.clients.end()) {
        throw Error(Errc::invalid_argument,
                    fmt::format("{}: there is no request {} among the {} of this run", table_.origin("request"),
                                settings_.request, scenario.clients.size()));
      }
    }
    if (!settings_.output.empty()) {
      write_file(settings_.output, script_text(scenario, replay_command(settings_.replay)));
    }
    const bool failed = show_run(scenario, options);
    return failed ? kExitFailed : kExitOk;
  }

 private:
  DrawFunction draw() const {
    return [this](std::uint64_t seed) { return draw_scenario(profile_, seed); };
  }

  std::string replay_command(std::uint64_t seed) const {
    std::string command = fmt::format("baton chaos --replay {}", seed);
    if (settings_.profile != ChaosSettings{}.profile) {
      command += " --profile " + settings_.profile;
    }
    for (const std::string& kind : settings_.without) {
      command += " --without " + kind;
    }
    return command;
  }

  // Runs the scenario once more and prints its timeline. Returns whether it broke a rule.
  bool show_run(const Scenario& scenario, ReplayOptions options) {
    if (!settings_.perfetto.empty()) {
      options.render = [](std::vector<TraceEvent> events) { return trace_json(events); };
    }
    const Replay shown = replay(scenario, run_, options);
    if (!shown.timeline.empty()) {
      const std::string whose = shown.request ? fmt::format("request {}", *shown.request) : "all requests";
      fmt::print("timeline of {}:\n{}", whose, shown.timeline);
    }
    fmt::print("{}", shown.summary);
    if (!shown.rendered.empty()) {
      write_file(settings_.perfetto, shown.rendered);
      fmt::print("wrote {} for ui.perfetto.dev\n", settings_.perfetto);
    }
    fmt::print("{}\n", shown.finding ? in_words(*shown.finding) : "no rule was broken");
    return shown.finding.has_value();
  }

  void show_failure(std::uint64_t seed, const Finding& finding) {
    fmt::print("seed {} of profile {} breaks {}\n", seed, settings_.profile, in_words(finding));
    fmt::print("baton {} ({}); again with: {}\n", kVersion, kCommit, replay_command(seed));
    std::fflush(stdout);
    const Scenario scenario = draw_scenario(profile_, seed);
    const bool endless = finding.rule == kEndlessRule;
    const Finding again = endless ? finding : try_scenario(run_, scenario, kPatience).finding.value_or(Finding{});
    if (again.rule != finding.rule) {
      fmt::print("The same seed alone {}: the run depends on more than its seed, or on the runs before it.\n",
                 again.rule.empty() ? "breaks no rule" : "breaks " + in_words(again));
      return;
    }
    const Shrunk small =
        settings_.shrink > Duration{0} ? make_small(scenario, again) : Shrunk{scenario, again, 0, true};
    const std::string path = settings_.output.empty() ? fmt::format("chaos-{}.toml", seed) : settings_.output;
    write_file(path, script_text(small.scenario, heading(seed, small.finding)));
    fmt::print("wrote {}; again with: baton chaos --script {}\n", path, path);
    ReplayOptions options;
    options.limit = endless ? std::chrono::nanoseconds(kShrinkRunLimit) : options.limit;
    show_run(small.scenario, options);
  }

  Shrunk make_small(const Scenario& scenario, const Finding& finding) {
    using Clock = std::chrono::steady_clock;
    Signals signals;
    ProgressLine line;
    const auto end = Clock::now() + settings_.shrink;
    ShrinkOptions options;
    options.stop = [&] { return Clock::now() > end || signals.interrupted(); };
    options.progress = [&](const Shrunk& best) {
      line.show(fmt::format("shrinking: {}, {} runs", size_text(best.scenario), best.runs));
    };
    const TryFunction attempt = [this](const Scenario& next) { return try_scenario(run_, next, kShrinkRunLimit); };
    Shrunk small = shrink(scenario, finding, attempt, options);
    line.clear();
    fmt::print("shrunk {} by {} runs in {:.1f} s{}\n  from {}\n  to   {}\n", in_words(small.finding), small.runs,
               line.seconds(), small.complete ? "" : ", not to the end", size_text(scenario),
               size_text(small.scenario));
    return small;
  }

  std::string heading(std::uint64_t seed, const Finding& finding) const {
    return fmt::format("baton {} ({}): {}\nfound by: {}\n", kVersion, kCommit, in_words(finding), replay_command(seed));
  }

  static constexpr auto kPatience = std::chrono::seconds(60);

  const ChaosSettings& settings_;
  const SettingTable& table_;
  const RunFunction& run_;
  Profile profile_;
};

}  // namespace

ChaosCommand::ChaosCommand() : ChaosCommand(chaos::run_scenario) {}

ChaosCommand::ChaosCommand(chaos::RunFunction run) : run_world_(std::move(run)) {
  add_settings(table_, settings_);
}

Command ChaosCommand::command() {
  Command command;
  command.name = "chaos";
  command.summary = "Looks for bugs under faults, in virtual time";
  command.examples =
      "A seed decides everything: how many pages and ranks there are, what clients ask for, and which messages are\n"
      "lost, which writes come late, which ranks die. The roles that serve run in that world, and a checker looks at\n"
      "every step. The first seed that breaks a rule is made as small as it gets and written down as a script.\n"
      "Exit code: 0 no rule was broken, 1 one was, 2 bad settings, 130 Ctrl-C.\n"
      "\n"
      "Examples:\n"
      "  baton chaos                                     20,000 seeds of everything\n"
      "  baton chaos --seeds 1000000 --from 20001        other seeds\n"
      "  baton chaos --profile crashes --without freeze  only what ranks and ways between them do\n"
      "  baton chaos --replay 17 --request 4             seed 17, and the way of its request 4 through the ranks\n"
      "  baton chaos --script chaos-17.toml --perfetto chaos-17.json";
  command.table = &table_;
  command.run = [this] { return run(); };
  return command;
}

int ChaosCommand::run() {
  check(table_, settings_);
  Session session(settings_, table_, run_world_);
  return table_.given("replay") || table_.given("script") ? session.one_run() : session.search();
}

}  // namespace baton
