#include "sim/explorer/forked.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::chaos {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[maybe_unused]] constexpr rlim_t kMemoryMax =
    rlim_t{4} << 30;  // a run takes some megabytes; one that grows for ever shall not win

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define BATON_SHADOW_MEMORY 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BATON_SHADOW_MEMORY 1
#endif

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void limit_child() noexcept {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
#ifndef BATON_SHADOW_MEMORY
  const rlimit memory{kMemoryMax, kMemoryMax};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
}

void write_all(int pipe, const void* bytes, std::size_t count) noexcept {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(pipe, next, count);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      ::_exit(1);
    }
    next += written;
    count -= static_cast<std::size_t>(written);
  }
}

// Each part with its length before it.
void write_parts(int pipe, const std::vector<std::string>& parts) noexcept {
  for (const std::string& part : parts) {
    const std::uint64_t bytes = part.size();
    write_all(pipe, &bytes, sizeof bytes);
    write_all(pipe, part.data(), part.size());
  }
}

std::vector<std::string> split_parts(std::string_view bytes) {
  std::vector<std::string> parts;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    parts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(std::min<std::size_t>(length, bytes.size()));
  }
  return parts;
}

// Everything until the other end closes; false where that takes too long.
bool read_all(int pipe, SteadyClock::time_point until, std::string& bytes) {
  std::array<char, 65536> piece;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    pollfd wait{pipe, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(std::min<long>(left.count(), 60'000)));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      if (SteadyClock::now() < until) {
        continue;
      }
      return false;
    }
    const ssize_t count = ::read(pipe, piece.data(), piece.size());
    if (count == 0) {
      return true;
    }
    if (count > 0) {
      bytes.append(piece.data(), static_cast<std::size_t>(count));
    }
  }
}

int wait_for(pid_t child) noexcept {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void be_child(const std::function<std::vector<std::string>()>& work, int pipe) {
  try {
    write_parts(pipe, work());
    ::_exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exception: {}\n", error.what());
  }
  ::_exit(1);
}

std::string_view line_with(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is the text's beginning
  return text.substr(begin, text.find('\n', at) - begin);
}

std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

StderrFile::StderrFile() : file_(::memfd_create("stderr", MFD_CLOEXEC)) {
  if (file_ < 0) {
    fail("memfd_create");
  }
}

StderrFile::StderrFile(StderrFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

StderrFile::~StderrFile() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

void StderrFile::use_in_child() const noexcept {
  ::dup2(file_, STDERR_FILENO);
}

std::string StderrFile::text() const {
  constexpr std::size_t kMost = 16'384;
  std::string text;
  std::array<char, kMost> piece;
  const ssize_t begin = ::pread(file_, piece.data(), piece.size(), 0);
  if (begin > 0) {
    text.assign(piece.data(), static_cast<std::size_t>(begin));
  }
  const off_t size = ::lseek(file_, 0, SEEK_END);
  const off_t rest = std::max<off_t>(begin, size - static_cast<off_t>(kMost));
  const ssize_t end = begin > 0 && size > rest ? ::pread(file_, piece.data(), piece.size(), rest) : 0;
  if (end > 0) {
    text.append("\n").append(piece.data(), static_cast<std::size_t>(end));
  }
  return text;
}

pid_t fork_child(const StderrFile& words) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    fail("fork");
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
      ::_exit(1);
    }
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGABRT, SIG_DFL);  // the parent tells of it, no handler that the program may have
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    words.use_in_child();
    limit_child();
  }
  return child;
}

Death explain_death(int wait_status, const std::string& words) {
  for (const char* mark :
       {"check failed: ", "ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error: "}) {
    if (const std::string_view line = line_with(words, mark); !line.empty()) {
      const std::size_t at = line.rfind(" at ");
      const bool is_check = line.find("check failed: ") != std::string_view::npos && at != std::string_view::npos;
      return {std::string(line), is_check ? std::string(line.substr(at + 4)) : std::string(mark)};
    }
  }
  const std::string_view last = last_line(words);
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    const std::string signal = fmt::format("signal {} ({})", number, ::strsignal(number));
    return {last.empty() ? signal : fmt::format("{}: {}", signal, last), signal};
  }
  const std::string code = fmt::format("exit code {}", WEXITSTATUS(wait_status));
  return {last.empty() ? code : std::string(last), code};
}

ForkedEnd run_forked(const std::function<std::vector<std::string>()>& work, std::chrono::nanoseconds limit) {
  const StderrFile words;
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) {
    fail("pipe");
  }
  const auto until = SteadyClock::now() + limit;
  const pid_t child = fork_child(words);
  if (child == 0) {
    ::close(pipe[0]);
    be_child(work, pipe[1]);
  }
  ::close(pipe[1]);
  std::string bytes;
  const bool in_time = read_all(pipe[0], until, bytes);
  ::close(pipe[0]);
  if (!in_time) {
    ::kill(child, SIGKILL);
  }
  const int status = wait_for(child);
  if (!in_time) {
    return {ForkedEnd::How::timed_out, {}, {}, {}};
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {ForkedEnd::How::returned, split_parts(bytes), {}, {}};
  }
  Death death = explain_death(status, words.text());
  return {ForkedEnd::How::died, {}, std::move(death.cause), std::move(death.place)};
}

}  // namespace baton::chaos
