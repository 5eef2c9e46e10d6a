#include "sim/report/gap_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/check.h"

namespace baton::sim {
namespace {

constexpr unsigned kSubBits = 7;
constexpr std::uint64_t kSubBuckets = std::uint64_t{1} << kSubBits;
constexpr unsigned kBits = 63;  // of a duration
constexpr std::size_t kBuckets = (kBits - kSubBits + 1) * kSubBuckets;

}  // namespace

GapHistogram::GapHistogram() : buckets_(kBuckets) {}

// Values below 2 * 128 index their bucket; above, the top 8 bits and the number of bits below them do.
std::size_t GapHistogram::bucket_of(std::uint64_t nanoseconds) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(nanoseconds));
  const unsigned shift = bits > kSubBits + 1 ? bits - (kSubBits + 1) : 0;
  return shift * kSubBuckets + (nanoseconds >> shift);
}

std::uint64_t GapHistogram::middle_of(std::size_t bucket) noexcept {
  if (bucket < 2 * kSubBuckets) {
    return bucket;
  }
  const std::uint64_t shift = bucket / kSubBuckets - 1;
  const std::uint64_t low = (bucket - shift * kSubBuckets) << shift;
  return low + ((std::uint64_t{1} << shift) - 1) / 2;
}

void GapHistogram::add(Duration gap, std::uint64_t count) {
  BATON_CHECK(gap >= Duration::zero(), gap.count());
  buckets_[bucket_of(static_cast<std::uint64_t>(gap.count()))] += count;
  count_ += count;
  sum_ += static_cast<double>(gap.count()) * static_cast<double>(count);
  max_ = count > 0 ? std::max(max_, gap) : max_;
}

void GapHistogram::add(const GapHistogram& other) {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    buckets_[bucket] += other.buckets_[bucket];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

Duration GapHistogram::mean() const noexcept {
  return count_ == 0 ? Duration(0) : Duration(std::llround(sum_ / static_cast<double>(count_)));
}

Duration GapHistogram::quantile(double q) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (buckets_[bucket] > 0 && seen >= wanted) {
      return std::min(max_, Duration(static_cast<Duration::rep>(middle_of(bucket))));
    }
  }
  return Duration(0);
}

std::vector<GapHistogram::Point> GapHistogram::distribution() const {
  std::vector<Point> points;
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (buckets_[bucket] > 0) {
      seen += buckets_[bucket];
      const Duration middle(static_cast<Duration::rep>(middle_of(bucket)));
      points.push_back({std::min(max_, middle), static_cast<double>(seen) / static_cast<double>(count_)});
    }
  }
  return points;
}

}  // namespace baton::sim
