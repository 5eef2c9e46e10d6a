#include "model/engine/profile.h"

#include <fmt/format.h>

namespace baton {
namespace {

constexpr std::array<std::string_view, kOperators> kNames = {
    "embed", "norm", "qkv", "rope", "store", "attention", "output", "gate_up", "down", "head", "sampling"};

}  // namespace

std::string_view to_string(Operator op) noexcept {
  return kNames[static_cast<std::size_t>(op)];
}

std::chrono::nanoseconds Profile::total() const noexcept {
  std::chrono::nanoseconds sum{};
  for (const std::chrono::nanoseconds ns : ns_) {
    sum += ns;
  }
  return sum;
}

std::string Profile::report() const {
  const double all = static_cast<double>(total().count());
  std::string text;
  for (std::size_t i = 0; i < kOperators; ++i) {
    const double ns = static_cast<double>(ns_[i].count());
    if (ns > 0) {
      text += fmt::format("{:>10} {:9.2f} ms {:5.1f} %\n", kNames[i], ns / 1e6, 100.0 * ns / all);
    }
  }
  return text;
}

}  // namespace baton
