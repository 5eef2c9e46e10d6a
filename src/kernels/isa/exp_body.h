// exp for every lane, the same for a full vector and for a tail, so that a value does not depend on its place.
#pragma once

#include "kernels/isa/vector.h"

namespace baton::kernels {
namespace {

// exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln 2 / 2; exp(r) by its Taylor series to r^7, whose remainder is
// below 6e-9. Relative error below 2e-7 (tests/kernels measures it) for x in [-87, 88]; x beyond is brought to there.
inline Vec exp_lanes(Vec x) noexcept {
  constexpr float kInverseLn2 = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // 9 bits: n * high is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer, to nearest even
  x = smaller(larger(x, splat(-87.0F)), splat(88.0F));
  const Vec n = fma(x, splat(kInverseLn2), splat(kRound)) - splat(kRound);
  Vec r = fma(n, splat(-kLn2High), x);
  r = fma(n, splat(-kLn2Low), r);
  Vec series = splat(1.0F / 5040);
  series = fma(series, r, splat(1.0F / 720));
  series = fma(series, r, splat(1.0F / 120));
  series = fma(series, r, splat(1.0F / 24));
  series = fma(series, r, splat(1.0F / 6));
  series = fma(series, r, splat(0.5F));
  series = fma(series, r, splat(1.0F));
  series = fma(series, r, splat(1.0F));
  return series * power_of_two(n);
}

}  // namespace
}  // namespace baton::kernels
