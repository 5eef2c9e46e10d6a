// Pick: small random numbers for property tests, the same on every compiler.
#pragma once

#include <cstdint>

#include "runtime/random.h"

namespace baton::test {

class Pick final {
 public:
  explicit Pick(std::uint64_t seed) : random_(seed) {}
  std::uint32_t operator()(std::uint32_t bound) { return static_cast<std::uint32_t>(random_.uniform(bound)); }
  bool chance(double probability) { return random_.chance(probability); }

 private:
  Random random_;
};

}  // namespace baton::test
