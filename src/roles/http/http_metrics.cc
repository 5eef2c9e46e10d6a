#include "roles/http/http_metrics.h"

#include <string>
#include <utility>
#include <vector>

namespace baton {
namespace {

const std::vector<double>& first_token_buckets() {
  static const std::vector<double> buckets = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                                              1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
  return buckets;
}

const std::vector<double>& next_token_buckets() {
  static const std::vector<double> buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,  0.15, 0.2,  0.3,
                                              0.4,   0.5,    0.75,  1.0,  2.5,   5.0,  7.5,   10.0, 20.0, 40.0, 80.0};
  return buckets;
}

const std::vector<double>& request_buckets() {
  static const std::vector<double> buckets = {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                                              30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
  return buckets;
}

}  // namespace

HttpMetrics::HttpMetrics(MetricsRegistry& registry, std::size_t connections_max)
    : registry_(registry),
      open_connections_(registry.gauge("baton_http_connections", "Connections that are open.")),
      running_(registry.gauge("baton_http_requests_running", "Requests that are being answered.")),
      refused_connections_(
          registry.counter("baton_http_connections_refused_total", "Connections above the bound, answered 503.")),
      clients_gone_(registry.counter("baton_http_clients_gone_total",
                                     "Clients that went away, or read too slowly, before their answer was complete.")),
      first_token_(registry.histogram("baton_time_to_first_token_seconds",
                                      "From a request's last byte to its first token, per sample.",
                                      first_token_buckets())),
      next_token_(
          registry.histogram("baton_inter_token_seconds", "Between two tokens of one sample.", next_token_buckets())) {
  registry.gauge("baton_http_connections_limit", "How many connections may be open.")
      .set(static_cast<double>(connections_max));
}

void HttpMetrics::request_done(std::string_view endpoint, unsigned status, Duration took) {
  const Labels endpoint_only = {{"endpoint", std::string(endpoint)}};
  Labels labels = endpoint_only;
  labels.emplace_back("status", std::to_string(status));
  registry_
      .counter("baton_http_requests_total", "Requests answered, by what was called and how it ended.",
               std::move(labels))
      .add();
  registry_
      .histogram("baton_http_request_seconds", "From a request's last byte to the end of its answer.",
                 request_buckets(), endpoint_only)
      .observe(seconds(took));
}

}  // namespace baton
