#include "runtime/metrics.h"

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace baton {

TEST_CASE("MetricsRegistry: the text is the exposition format, families by name and members by labels") {
  MetricsRegistry registry;
  registry.counter("baton_requests_total", "Requests by outcome.", {{"outcome", "ok"}}).add(3);
  registry.counter("baton_requests_total", "Requests by outcome.", {{"outcome", "aborted"}}).add();
  registry.gauge("baton_depth", "Queue depth.").set(-2.5);
  Histogram& histogram = registry.histogram("baton_ttft_seconds", "Time to first token.", {0.1, 0.5}, {{"rank", "0"}});
  histogram.observe(0.1);  // a bound belongs to its bucket
  histogram.observe(0.25);
  histogram.observe(7);
  CHECK(registry.prometheus_text() ==
        "# HELP baton_depth Queue depth.\n"
        "# TYPE baton_depth gauge\n"
        "baton_depth -2.5\n"
        "# HELP baton_requests_total Requests by outcome.\n"
        "# TYPE baton_requests_total counter\n"
        "baton_requests_total{outcome=\"aborted\"} 1\n"
        "baton_requests_total{outcome=\"ok\"} 3\n"
        "# HELP baton_ttft_seconds Time to first token.\n"
        "# TYPE baton_ttft_seconds histogram\n"
        "baton_ttft_seconds_bucket{rank=\"0\",le=\"0.1\"} 1\n"
        "baton_ttft_seconds_bucket{rank=\"0\",le=\"0.5\"} 2\n"
        "baton_ttft_seconds_bucket{rank=\"0\",le=\"+Inf\"} 3\n"
        "baton_ttft_seconds_sum{rank=\"0\"} 7.35\n"
        "baton_ttft_seconds_count{rank=\"0\"} 3\n");
}

TEST_CASE("MetricsRegistry: help and label values are escaped as the format asks") {
  MetricsRegistry registry;
  registry.gauge("g", "a \\ and a\nnewline and a \" quote", {{"path", "C:\\x\n\"y\""}}).set(1);
  CHECK(registry.prometheus_text() ==
        "# HELP g a \\\\ and a\\nnewline and a \" quote\n"
        "# TYPE g gauge\n"
        "g{path=\"C:\\\\x\\n\\\"y\\\"\"} 1\n");
}

TEST_CASE("MetricsRegistry: the same name and labels, in any order, are the same object") {
  MetricsRegistry registry;
  Counter& first = registry.counter("c", "h", {{"a", "1"}, {"b", "2"}});
  Counter& second = registry.counter("c", "h", {{"b", "2"}, {"a", "1"}});
  CHECK(&first == &second);
  CHECK(&first != &registry.counter("c", "h", {{"a", "1"}}));
  CHECK(&registry.histogram("h", "h", {1, 2}) == &registry.histogram("h", "h", {1, 2}));
}

TEST_CASE("MetricsRegistry: extreme values have the spelling the format asks for") {
  MetricsRegistry registry;
  registry.gauge("a", "h").set(std::numeric_limits<double>::infinity());
  registry.gauge("b", "h").set(-std::numeric_limits<double>::infinity());
  registry.gauge("c", "h").set(std::nan(""));
  const std::string text = registry.prometheus_text();
  CHECK(text.find("\na +Inf\n") != std::string::npos);
  CHECK(text.find("\nb -Inf\n") != std::string::npos);
  CHECK(text.find("\nc NaN\n") != std::string::npos);
  Histogram histogram({1.0});
  histogram.observe(std::nan(""));
  CHECK(histogram.count() == 0);
  histogram.observe(std::numeric_limits<double>::infinity());
  CHECK(histogram.in_bucket(1) == 1);
}

TEST_CASE("MetricsRegistry: updates from many threads all count, also while the text is read") {
  MetricsRegistry registry;
  Counter& counter = registry.counter("c", "h");
  Gauge& gauge = registry.gauge("g", "h");
  Histogram& histogram = registry.histogram("h", "h", exponential_buckets(1, 2, 4));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        counter.add();
        gauge.add(1);
        histogram.observe(n % 20);
        registry.counter("c", "h", {{"n", std::to_string(n % 5)}}).add();
      }
    });
  }
  for (int n = 0; n < 10; ++n) {
    CHECK(registry.prometheus_text().find("# TYPE c counter") != std::string::npos);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(counter.value() == 3000);
  CHECK(gauge.value() == 3000);
  CHECK(histogram.count() == 3000);
  CHECK(histogram.bounds() == std::vector<double>{1, 2, 4, 8});
}

}  // namespace baton
