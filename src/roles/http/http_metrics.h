// What the front end counts: what clients did, and what they felt.
//
// Times are seconds. The buckets of the latency histograms are those of vLLM's metrics of the same meaning, so that
// dashboards compare; the inter-token ones have three more at the short end, for small models.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/metrics.h"
#include "runtime/time.h"

namespace baton {

class HttpMetrics final {
 public:
  // The registry outlives this. The bound on connections is shown beside their number.
  HttpMetrics(MetricsRegistry& registry, std::size_t connections_max);

  // `endpoint` is a route's path or "other": never what a client sent.
  void request_done(std::string_view endpoint, unsigned status, Duration took);
  void connection_opened() noexcept { open_connections_.add(1.0); }
  void connection_closed() noexcept { open_connections_.add(-1.0); }
  void connection_refused() noexcept { refused_connections_.add(); }
  void request_begins() noexcept { running_.add(1.0); }
  void request_ends() noexcept { running_.add(-1.0); }
  void client_gone() noexcept { clients_gone_.add(); }
  void first_token(Duration after) noexcept { first_token_.observe(seconds(after)); }
  void next_token(Duration after) noexcept { next_token_.observe(seconds(after)); }

 private:
  MetricsRegistry& registry_;
  Gauge& open_connections_;
  Gauge& running_;
  Counter& refused_connections_;
  Counter& clients_gone_;
  Histogram& first_token_;
  Histogram& next_token_;
};

}  // namespace baton
