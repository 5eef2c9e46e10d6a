#include "runtime/random.h"

#include <bit>

#include "runtime/check.h"

namespace baton {

std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

Random::Random(std::uint64_t seed) noexcept : seed_(seed) {
  std::uint64_t filler = seed;
  for (std::uint64_t& word : state_) {
    word = splitmix64(filler);
  }
}

std::uint64_t Random::next() noexcept {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019: the upper half of a product, and
// another draw in the few cases that would favour some results.
std::uint64_t Random::uniform(std::uint64_t bound) noexcept {
  BATON_CHECK(bound > 0);
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{next()} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) {
      product = Wide{next()} * bound;
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::unit() noexcept {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

Random Random::fork(std::uint64_t stream) const noexcept {
  std::uint64_t mixed = seed_;
  std::uint64_t state = splitmix64(mixed) ^ stream;
  return Random(splitmix64(state));
}

}  // namespace baton
