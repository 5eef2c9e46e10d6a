// The step log: what each engine step of a real server computed and how long it took. Written by `baton serve
// --step-log`, read by `baton sim --calibrate`.
//
// CSV: rank, begin_s, seconds, and the sums of StepLoad. Comment lines before the header carry the settings of the
// server that a simulated one must share ("# chunk = 256").
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/ids.h"
#include "sim/cost/step_load.h"

namespace baton::sim {

struct LoggedStep {
  RankId rank;
  double begin_s = 0;  // since the start of the server
  double seconds = 0;
  StepLoad load;
};

struct StepLog {
  std::map<std::string, std::string> settings;
  std::vector<LoggedStep> steps;
};

class StepLogWriter final {
 public:
  // Throws Error(unavailable) when the file cannot be made.
  StepLogWriter(std::string path, const std::map<std::string, std::string>& settings);
  ~StepLogWriter();  // writes what is buffered
  StepLogWriter(const StepLogWriter&) = delete;
  StepLogWriter& operator=(const StepLogWriter&) = delete;

  // Any thread.
  void write(const LoggedStep& step);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::mutex mutex_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

// Throws Error(not_found), and Error(bad_file) with file, line and column.
StepLog read_step_log(const std::string& path);

}  // namespace baton::sim
