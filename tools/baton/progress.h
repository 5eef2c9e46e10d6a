// Says on stderr how far a long piece of work is: a bar that is redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace baton {

class Progress final {
 public:
  // `label` says what is done: "Loading model.gguf". Elsewhere than on a terminal it is printed at once.
  explicit Progress(std::string label, std::FILE* out = stderr);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done, std::uint64_t total);  // any thread
  void finish(const std::string& result);                // ends the line: "Loading model.gguf: 94 MiB in 0.3 s"

 private:
  using Clock = std::chrono::steady_clock;

  const std::string label_;
  std::FILE* const out_;
  const bool terminal_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point drawn_{};  // guarded by mutex_
};

// "[##########----------]" of `width` places between the brackets.
std::string bar(double fraction, unsigned width);

}  // namespace baton
