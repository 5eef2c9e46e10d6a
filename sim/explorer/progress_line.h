// ProgressLine: one line on stderr that says how far something is: written over on a terminal, elsewhere now and then.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace baton::chaos {

class ProgressLine final {
 public:
  explicit ProgressLine(std::FILE* out = stderr);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  bool due() const;                    // whether show() would show something now
  void show(const std::string& text);  // at most ten times a second; elsewhere than on a terminal every ten seconds
  void clear();                        // so that other text can follow

  double seconds() const;  // since it was made

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* out_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

}  // namespace baton::chaos
