// Random: a small seeded generator whose numbers are the same on every compiler and library.
//
// xoshiro256** seeded through splitmix64 (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators",
// ACM TOMS 47(4), 2021, and prng.di.unimi.it). Not for secrets. A value; not safe to share between threads.
#pragma once

#include <array>
#include <cstdint>

namespace baton {

// One step of splitmix64: advances the state and returns a well mixed number; also a good hash of a counter.
std::uint64_t splitmix64(std::uint64_t& state) noexcept;

class Random final {
 public:
  explicit Random(std::uint64_t seed) noexcept;

  std::uint64_t next() noexcept;                        // uniform over all 64 bits
  std::uint64_t uniform(std::uint64_t bound) noexcept;  // uniform in [0, bound), without bias; bound > 0
  double unit() noexcept;                               // uniform in [0, 1), a multiple of 2^-53
  bool chance(double probability) noexcept { return unit() < probability; }

  // A generator of its own for one purpose, so that drawing more for one thing does not move another. Depends on the
  // seed and the stream alone, not on what was drawn so far.
  Random fork(std::uint64_t stream) const noexcept;

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
};

}  // namespace baton
