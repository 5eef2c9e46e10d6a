#include "model/text/row_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/check.h"

namespace baton {

namespace {

constexpr std::size_t kLanes = 16;
constexpr float kNever = -std::numeric_limits<float>::infinity();

// exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln(2) / 2. The polynomial is that of Cephes' expf (S. Moshier);
// n is rounded by adding 1.5 * 2^23, after which it stands in the low bits.
inline float exp_of(float x) {
  constexpr float kRound = 12582912.0F;
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23U;
  const float value = p * std::bit_cast<float>(exponent);
  return x >= -87.0F ? value : 0.0F;
}

double sum_of(const std::array<double, kLanes>& lanes) {
  double sum = 0.0;
  for (const double lane : lanes) {
    sum += lane;
  }
  return sum;
}

}  // namespace

float row_max(std::span<const float> row) {
  std::array<float, kLanes> lanes;
  lanes.fill(kNever);
  std::size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = row[i + lane];
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];  // false for NaN
    }
  }
  for (; i < row.size(); ++i) {
    lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
  }
  return *std::max_element(lanes.begin(), lanes.end());
}

TokenId row_find(std::span<const float> row, float value) {
  const auto at = std::find(row.begin(), row.end(), value);
  BATON_CHECK(at != row.end(), value, row.size());
  return static_cast<TokenId>(at - row.begin());
}

double row_exp(std::span<const float> row, float highest, float scale, std::span<float> out) {
  BATON_CHECK(out.size() == row.size(), out.size(), row.size());
  const float* from = row.data();
  float* to = out.data();
  for (std::size_t i = 0; i < row.size(); ++i) {
    to[i] = exp_of((from[i] - highest) * scale);
  }
  std::array<double, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= out.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(to[i + lane]);
    }
  }
  for (; i < out.size(); ++i) {
    lanes[0] += static_cast<double>(to[i]);
  }
  return sum_of(lanes);
}

double row_sum_exp(std::span<const float> row, float highest) {
  // Through a small buffer: the terms stay in the first-level cache.
  std::array<float, 1024> buffer;
  double sum = 0.0;
  for (std::size_t at = 0; at < row.size(); at += buffer.size()) {
    const std::size_t count = std::min(buffer.size(), row.size() - at);
    sum += row_exp(row.subspan(at, count), highest, 1.0F, std::span(buffer).first(count));
  }
  return sum;
}

float exp_not_positive(float x) {
  return exp_of(x);
}

}  // namespace baton
