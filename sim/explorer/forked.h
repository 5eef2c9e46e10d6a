// run_forked(): a piece of work in a process of its own, so that a bug in it may abort, crash or run for ever.
//
// Before any thread exists: a fork has only the thread that called it. The child dies with its parent, ignores Ctrl-C,
// which is the parent's to answer, and writes no core.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace baton::chaos {

struct ForkedEnd {
  enum class How { returned, died, timed_out };
  How how = How::died;
  std::vector<std::string> parts;  // returned: what the work returned
  std::string cause;               // died: the failed check, the sanitizer's line, the exception or the signal
  std::string place;               // died: the part of the cause that is the same each time
};

// Throws std::system_error where the machine gives no process or pipe.
ForkedEnd run_forked(const std::function<std::vector<std::string>()>& work, std::chrono::nanoseconds limit);

// The pieces of it, for workers that live longer.
//
// What a child writes to stderr goes to a file in memory, from which the parent reads why it died.
class StderrFile final {
 public:
  StderrFile();
  StderrFile(StderrFile&& other) noexcept;
  StderrFile& operator=(StderrFile&&) = delete;
  ~StderrFile();
  void use_in_child() const noexcept;
  std::string text() const;  // the beginning and the end of it, where it is long

 private:
  int file_;
};

// fork(), and in the child what the heading says. Returns 0 in the child. Throws std::system_error.
pid_t fork_child(const StderrFile& words);

struct Death {
  std::string cause;
  std::string place;
};
Death explain_death(int wait_status, const std::string& words);

}  // namespace baton::chaos
