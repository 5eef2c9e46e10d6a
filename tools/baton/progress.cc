#include "tools/baton/progress.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace baton {

std::string bar(double fraction, unsigned width) {
  const double share = std::clamp(fraction, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(share * width);
  return "[" + std::string(full, '#') + std::string(width - full, '-') + "]";
}

Progress::Progress(std::string label, std::FILE* out)
    : label_(std::move(label)), out_(out), terminal_(::isatty(::fileno(out)) != 0) {
  if (!terminal_) {
    fmt::print(out_, "{} ...\n", label_);
    std::fflush(out_);
  }
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!terminal_ || total == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(50) && done < total) {
    return;
  }
  drawn_ = now;
  const double fraction = static_cast<double>(done) / static_cast<double>(total);
  fmt::print(out_, "\r{} {} {:3.0f} %", label_, bar(fraction, 30), fraction * 100);
  std::fflush(out_);
}

void Progress::finish(const std::string& result) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  // The escape sequence clears what is left of the bar.
  fmt::print(out_, "{}{}: {} in {:.1f} s\n", terminal_ ? "\r\x1b[K" : "", label_, result, seconds);
  std::fflush(out_);
}

}  // namespace baton
