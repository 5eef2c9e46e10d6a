#include "runtime/metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "runtime/check.h"

namespace baton {
namespace {

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool valid_metric_name(const std::string& name) noexcept {
  const auto ok = [](char c) { return is_letter(c) || is_digit(c) || c == ':'; };
  return !name.empty() && !is_digit(name.front()) && std::all_of(name.begin(), name.end(), ok);
}

bool valid_label_name(const std::string& name) noexcept {
  const auto ok = [](char c) { return is_letter(c) || is_digit(c); };
  return !name.empty() && !is_digit(name.front()) && !name.starts_with("__") &&
         std::all_of(name.begin(), name.end(), ok);
}

std::string escaped(std::string_view text, bool quotes_too) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\\\";
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '"' && quotes_too) {
      result += "\\\"";
    } else {
      result += c;
    }
  }
  return result;
}

std::string number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  return fmt::format("{}", value);
}

// name="value",name="value" in the order of names; two labels of one name are a bug.
std::string label_text(Labels labels) {
  std::sort(labels.begin(), labels.end());
  std::string text;
  const std::string* previous = nullptr;
  for (const auto& [name, value] : labels) {
    BATON_CHECK(valid_label_name(name), name);
    BATON_CHECK(previous == nullptr || *previous != name, name);
    text += previous == nullptr ? "" : ",";
    text += name;
    text += "=\"";
    text += escaped(value, true);
    text += '"';
    previous = &name;
  }
  return text;
}

std::string sample(const std::string& name, const char* suffix, const std::string& labels, const std::string& value) {
  if (labels.empty()) {
    return fmt::format("{}{} {}\n", name, suffix, value);
  }
  return fmt::format("{}{}{{{}}} {}\n", name, suffix, labels, value);
}

std::string histogram_text(const std::string& name, const std::string& labels, const Histogram& histogram) {
  std::string text;
  std::uint64_t cumulative = 0;
  const std::vector<double>& bounds = histogram.bounds();
  for (std::size_t index = 0; index <= bounds.size(); ++index) {
    cumulative += histogram.in_bucket(index);
    const double bound = index < bounds.size() ? bounds[index] : std::numeric_limits<double>::infinity();
    const std::string with_bound = fmt::format("{}{}le=\"{}\"", labels, labels.empty() ? "" : ",", number(bound));
    text += sample(name, "_bucket", with_bound, fmt::format("{}", cumulative));
  }
  text += sample(name, "_sum", labels, number(histogram.sum()));
  text += sample(name, "_count", labels, fmt::format("{}", cumulative));  // one reading for both: they must agree
  return text;
}

}  // namespace

// ---- Histogram

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {
  for (std::size_t index = 0; index < bounds_.size(); ++index) {
    BATON_CHECK(std::isfinite(bounds_[index]), index);
    BATON_CHECK(index == 0 || bounds_[index - 1] < bounds_[index], index);
  }
}

void Histogram::observe(double value, std::uint64_t times) noexcept {
  if (std::isnan(value)) {
    return;
  }
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  buckets_[static_cast<std::size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
  sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const noexcept {
  std::uint64_t total = 0;
  for (const auto& bucket : buckets_) {
    total += bucket.load(std::memory_order_relaxed);
  }
  return total;
}

std::uint64_t Histogram::in_bucket(std::size_t index) const noexcept {
  BATON_CHECK(index < buckets_.size(), index);
  return buckets_[index].load(std::memory_order_relaxed);
}

std::vector<double> exponential_buckets(double first, double factor, std::size_t count) {
  BATON_CHECK(first > 0 && factor > 1, first, factor);
  std::vector<double> bounds;
  double bound = first;
  for (std::size_t index = 0; index < count; ++index) {
    bounds.push_back(bound);
    bound *= factor;
  }
  return bounds;
}

// ---- MetricsRegistry

struct MetricsRegistry::Family {
  Kind kind;
  std::string help;
  // By label text. Only the map of the family's kind is used.
  std::map<std::string, std::unique_ptr<Counter>> counters;
  std::map<std::string, std::unique_ptr<Gauge>> gauges;
  std::map<std::string, std::unique_ptr<Histogram>> histograms;
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::family(Kind kind, const std::string& name, const std::string& help) {
  BATON_CHECK(valid_metric_name(name), name);
  auto& place = families_[name];
  if (place == nullptr) {
    place = std::make_unique<Family>();
    place->kind = kind;
    place->help = help;
  }
  BATON_CHECK(place->kind == kind, name);
  BATON_CHECK(place->help == help, name, place->help, help);
  return *place;
}

Counter& MetricsRegistry::counter(const std::string& name, const std::string& help, Labels labels) {
  const std::lock_guard lock(mutex_);
  auto& place = family(Kind::counter, name, help).counters[label_text(std::move(labels))];
  if (place == nullptr) {
    place = std::make_unique<Counter>();
  }
  return *place;
}

Gauge& MetricsRegistry::gauge(const std::string& name, const std::string& help, Labels labels) {
  const std::lock_guard lock(mutex_);
  auto& place = family(Kind::gauge, name, help).gauges[label_text(std::move(labels))];
  if (place == nullptr) {
    place = std::make_unique<Gauge>();
  }
  return *place;
}

Histogram& MetricsRegistry::histogram(const std::string& name, const std::string& help,
                                      const std::vector<double>& buckets, Labels labels) {
  for (const auto& label : labels) {
    BATON_CHECK(label.first != "le", name);
  }
  const std::lock_guard lock(mutex_);
  auto& histograms = family(Kind::histogram, name, help).histograms;
  BATON_CHECK(histograms.empty() || histograms.begin()->second->bounds() == buckets, name);
  auto& place = histograms[label_text(std::move(labels))];
  if (place == nullptr) {
    place = std::make_unique<Histogram>(buckets);
  }
  return *place;
}

std::string MetricsRegistry::prometheus_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    const char* kind = family->kind == Kind::counter ? "counter" : family->kind == Kind::gauge ? "gauge" : "histogram";
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family->help, false), name, kind);
    for (const auto& [labels, counter] : family->counters) {
      text += sample(name, "", labels, fmt::format("{}", counter->value()));
    }
    for (const auto& [labels, gauge] : family->gauges) {
      text += sample(name, "", labels, number(gauge->value()));
    }
    for (const auto& [labels, histogram] : family->histograms) {
      text += histogram_text(name, labels, *histogram);
    }
  }
  return text;
}

}  // namespace baton
