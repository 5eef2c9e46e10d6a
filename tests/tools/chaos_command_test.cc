#include "tools/baton/chaos_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime/check.h"
#include "sim/explorer/script.h"

namespace baton {
namespace {

using chaos::RunOptions;
using chaos::RunReport;
using chaos::Scenario;

// Sends a stream of this process to a file for a while.
class Captured final {
 public:
  Captured(std::FILE* stream, std::string path)
      : stream_(stream), path_(std::move(path)), before_(::dup(fileno(stream))) {
    std::fflush(stream_);
    std::FILE* file = std::fopen(path_.c_str(), "w");
    ::dup2(::fileno(file), ::fileno(stream_));
    std::fclose(file);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { end(); }

  std::string end() {
    if (before_ >= 0) {
      std::fflush(stream_);
      ::dup2(before_, ::fileno(stream_));
      ::close(before_);
      before_ = -1;
    }
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::FILE* stream_;
  std::string path_;
  int before_;
};

struct Called {
  int code = 0;
  std::string out;
  std::string err;
};

// A folder of this process's own, for as long as it runs.
class Folder final {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("chaos_command_test." + std::to_string(::getpid()))),
        owner_(::getpid()) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (::getpid() == owner_) {
      std::filesystem::remove_all(path_);
    }
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  pid_t owner_;
};

std::filesystem::path folder() {
  static const Folder kFolder;
  return kFolder.path();
}

Called call(const chaos::RunFunction& run, std::vector<const char*> words) {
  words.insert(words.begin(), {"baton", "chaos"});
  ChaosCommand chaos(run);
  std::vector<Command> commands{chaos.command()};
  Captured out(stdout, folder() / "out");
  Captured err(stderr, folder() / "err");
  Called called;
  called.code = run_command_line(static_cast<int>(words.size()), words.data(), commands);
  called.err = err.end();
  called.out = out.end();
  return called;
}

// Breaks a rule where request 7 is there, in seeds that a hundred divides.
RunReport fails_at_hundreds(const Scenario& scenario, RunOptions options) {
  RunReport report;
  report.digest = scenario.seed;
  for (const chaos::ClientPlan& client : scenario.clients) {
    ++report.requests;
    if (client.index == 7 && scenario.seed % 100 == 0) {
      report.violation = chaos::Violation{"page", "written by nobody", TimePoint{}, 7, 0x77};
    }
  }
  if (options.keep_history) {
    report.rooms = {{0x66, 6}, {0x77, 7}};
    report.history = {{TimePoint{}, "prealloc", {Role::decode, 0}, TraceEvent::Phase::instant, 0x66, 0, 0},
                      {TimePoint{}, "landing", {Role::prefill, 1}, TraceEvent::Phase::instant, 0x77, 0, 0}};
  }
  return report;
}

TEST_CASE("chaos command: a search without a failure ends with 0 and its counts") {
  const Called called = call(fails_at_hundreds, {"--seeds", "50", "--jobs", "2", "--digest"});
  CHECK(called.code == kExitOk);
  CHECK(called.out.starts_with("1 0000000000000001\n2 0000000000000002\n"));
  CHECK(called.out.ends_with("50 0000000000000032\nno rule was broken\n"));
  CHECK(called.err.find("50 seeds in ") != std::string::npos);
  CHECK(called.err.find(": 1500 requests, ") != std::string::npos);
}

TEST_CASE("chaos command: a failure is told, shrunk, written down and shown") {
  const std::string script = folder() / "small.toml";
  const Called called = call(fails_at_hundreds, {"--seeds", "500", "--from", "130", "--profile", "network", "--without",
                                                 "crash", "--jobs", "3", "--output", script.c_str()});
  CHECK(called.code == kExitFailed);
  CHECK(called.out.starts_with("seed 200 of profile network breaks rule \"page\": written by nobody\nbaton "));
  CHECK(called.out.find("; again with: baton chaos --replay 200 --profile network --without crash\n") !=
        std::string::npos);
  CHECK(called.out.find(" to   1 client, 0 timed faults, no message faults, 1+1 ranks\n") != std::string::npos);
  CHECK(called.out.find("timeline of request 7:\n") != std::string::npos);
  CHECK(called.out.find(" landing ") != std::string::npos);
  CHECK(called.out.find(" prealloc ") == std::string::npos);
  const Scenario small = chaos::read_script(script);
  CHECK(small.seed == 200);
  REQUIRE(small.clients.size() == 1);
  CHECK(small.clients[0].index == 7);

  const std::string perfetto = folder() / "trace.json";
  const Called again = call(fails_at_hundreds, {"--script", script.c_str(), "--perfetto", perfetto.c_str()});
  CHECK(again.code == kExitFailed);
  CHECK(again.out.ends_with("rule \"page\": written by nobody\n"));
  std::ifstream file(perfetto);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK(json.find("\"traceEvents\"") != std::string::npos);
}

TEST_CASE("chaos command: a replayed seed shows the request that is asked for") {
  const Called all = call(fails_at_hundreds, {"--replay", "3"});
  CHECK(all.code == kExitOk);
  CHECK(all.out.find("timeline of all requests:\n") != std::string::npos);
  CHECK(all.out.ends_with("no rule was broken\n"));
  const Called one = call(fails_at_hundreds, {"--replay", "100", "--request", "6"});
  CHECK(one.code == kExitFailed);
  CHECK(one.out.find(" prealloc ") != std::string::npos);
  CHECK(one.out.find(" landing ") == std::string::npos);
}

TEST_CASE("chaos command: an abort is shrunk like any other failure") {
  const auto aborts = [](const Scenario& scenario, RunOptions) {
    const std::size_t clients = scenario.clients.size();
    BATON_CHECK(scenario.seed != 5 || clients < 4, clients);
    return RunReport{};
  };
  const std::string script = folder() / "abort.toml";
  const Called called = call(aborts, {"--seeds", "20", "--output", script.c_str()});
  CHECK(called.code == kExitFailed);
  CHECK(called.out.starts_with("seed 5 of profile all breaks rule \"abort\": baton: check failed: "));
  CHECK(chaos::read_script(script).clients.size() == 4);
}

TEST_CASE("chaos command: a failure that does not come again is said to be one") {
  const std::string mark = folder() / "first";
  const auto once = [&](const Scenario& scenario, RunOptions) {
    RunReport report;
    if (scenario.seed == 2 && !std::filesystem::exists(mark)) {
      std::ofstream(mark) << "x";
      report.violation = chaos::Violation{"page", "once", TimePoint{}, {}, 0};
    }
    return report;
  };
  const Called called = call(once, {"--seeds", "4", "--jobs", "1"});
  CHECK(called.code == kExitFailed);
  CHECK(called.out.find("The same seed alone breaks no rule: the run depends on more than its seed") !=
        std::string::npos);
}

TEST_CASE("chaos command: what makes no sense is refused with 2 and one line") {
  const auto refused = [](std::vector<const char*> words) {
    const Called called = call(fails_at_hundreds, std::move(words));
    CHECK(called.code == kExitBadInput);
    CHECK(called.out.empty());
    CHECK(std::count(called.err.begin(), called.err.end(), '\n') == 1);
    return called.err;
  };
  CHECK(refused({"--seeds", "0"}).find("--seeds: '0' is not a whole number from 1 to") != std::string::npos);
  CHECK(refused({"--from", "18446744073709551615", "--seeds", "2"}).find("--from: the last of 2 seeds") !=
        std::string::npos);
  CHECK(refused({"--profile", "crahes"}).find("did you mean crashes?") != std::string::npos);
  CHECK(refused({"--without", "crash,frezze"}).find("no fault is called 'frezze'; did you mean freeze?") !=
        std::string::npos);
  CHECK(refused({"--replay", "1", "--seeds", "3"}).find("--seeds: has no use with --replay") != std::string::npos);
  CHECK(refused({"--replay", "1", "--script", "x"}).find("--script: give this or --replay") != std::string::npos);
  CHECK(refused({"--request", "1"}).find("--request: has no use without") != std::string::npos);
  CHECK(refused({"--replay", "1", "--request", "99"}).find("there is no request 99") != std::string::npos);
  CHECK(refused({"--script", "no-such.toml"}).find("no-such.toml: cannot be read") != std::string::npos);
  CHECK(refused({"--output", "/no/such/folder/x", "--seeds", "1"}).find("--output: cannot write") != std::string::npos);
}

}  // namespace
}  // namespace baton
