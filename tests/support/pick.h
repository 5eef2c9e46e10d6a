// Pick: small random numbers for property tests, the same on every compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/random.h"

namespace baton::test {

class Pick final {
 public:
  explicit Pick(std::uint64_t seed) : random_(seed) {}

  // Uniform in [0, bound).
  std::uint32_t operator()(std::size_t bound) { return static_cast<std::uint32_t>(random_.uniform(bound)); }
  bool chance(double probability) { return random_.chance(probability); }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[(*this)(i)]);
    }
  }

 private:
  Random random_;
};

}  // namespace baton::test
