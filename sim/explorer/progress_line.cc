#include "sim/explorer/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace baton::chaos {
namespace {

std::size_t columns(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine(std::FILE* out) : out_(out), terminal_(::isatty(::fileno(out)) != 0) {}

bool ProgressLine::due() const {
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
  return Clock::now() - last_ >= pause;
}

void ProgressLine::show(const std::string& text) {
  if (!due()) {
    return;
  }
  last_ = Clock::now();
  if (terminal_) {
    // The escape sequence clears what is left of the line before; a line that wraps could not be written over.
    fmt::print(out_, "\r{}\x1b[K", text.substr(0, columns(out_) - 1));
    shown_ = true;
  } else {
    fmt::print(out_, "{}\n", text);
  }
  std::fflush(out_);
}

void ProgressLine::clear() {
  if (shown_) {
    fmt::print(out_, "\r\x1b[K");
    std::fflush(out_);
    shown_ = false;
  }
}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

}  // namespace baton::chaos
