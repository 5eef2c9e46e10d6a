// Numbers for the ids of answers and for seeds clients did not bring. Unique within a server, different between
// servers; no secret.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runtime/random.h"

namespace baton {

class IdSource final {
 public:
  // Zero: seeded from the system.
  explicit IdSource(std::uint64_t seed) : state_(seed != 0 ? seed : from_system()) {}

  std::uint64_t draw() noexcept { return splitmix64(state_); }

  std::string id(std::string_view prefix) { return fmt::format("{}{:016x}", prefix, draw()); }

 private:
  static std::uint64_t from_system() {
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
  }

  std::uint64_t state_;
};

}  // namespace baton
