// Metrics: counters, gauges and histograms, and their text in the Prometheus exposition format 0.0.4.
//
// A metric is registered once, at start-up, and then updated through the reference from any thread without a lock.
// Asking again for the same name and labels gives the same object. The registry outlives all users of its metrics.
// Format: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace baton {

// Order does not matter for identity; names must be valid Prometheus label names, values are any text.
using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter final {
 public:
  void add(std::uint64_t amount = 1) noexcept { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge final {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(double amount) noexcept { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0.0};
};

class Histogram final {
 public:
  // bounds: upper limits of the buckets, finite and rising; a last bucket without limit is added.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value, std::uint64_t times = 1) noexcept;  // NaN is ignored

  std::uint64_t count() const noexcept;
  double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }
  const std::vector<double>& bounds() const noexcept { return bounds_; }
  std::uint64_t in_bucket(std::size_t index) const noexcept;  // not cumulative; index <= bounds().size()

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> buckets_;  // bounds + 1
  std::atomic<double> sum_{0.0};
};

// count bounds: first, first * factor, first * factor^2, ...
std::vector<double> exponential_buckets(double first, double factor, std::size_t count);

class MetricsRegistry final {
 public:
  MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;
  ~MetricsRegistry();

  // Any thread. Fails a check for an invalid or reserved name and for a name used before with another kind, help text
  // or other buckets: those are bugs, names never come from outside.
  Counter& counter(const std::string& name, const std::string& help, Labels labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, Labels labels = {});
  Histogram& histogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                       Labels labels = {});

  // Any thread. Families by name, their members by labels; the content type is "text/plain; version=0.0.4".
  std::string prometheus_text() const;

 private:
  struct Family;
  enum class Kind : std::uint8_t { counter, gauge, histogram };

  Family& family(Kind kind, const std::string& name, const std::string& help);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>> families_;
};

}  // namespace baton
