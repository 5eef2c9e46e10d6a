// The OpenAI-compatible front end: Beast on the front's context, above the router.
//
//   clients ==TCP==> HttpServer --GenerationRequest--> Generator --events--> HttpServer ==JSON or SSE==> clients
//
// Everything runs on the thread of the context given, but for reading big bodies (body_worker.h). A client that goes
// away aborts its generations. Which fields are supported is said in api_request.h, what answers look like in
// api_response.h and api_error.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "roles/generation.h"
#include "roles/http/http_config.h"
#include "roles/http/served_model.h"
#include "runtime/task.h"
#include "runtime/time.h"

namespace baton {

class Context;
class MetricsRegistry;

class HttpServer final {
 public:
  // Binds and listens at once (nothing is accepted before run). Throws Error(unavailable) with the address when that
  // fails, Error(invalid_argument) for a host that names no address. All references outlive the server.
  HttpServer(Context& context, Generator& generator, ServedModel model, HttpConfig config, MetricsRegistry& metrics);
  ~HttpServer();  // after run() has completed, or without it ever having been called
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves until close(), then completes when every connection has ended. Call once. Cancelling it is close().
  Task<> run();

  // The port it listens on.
  std::uint16_t port() const noexcept;

  // Drain: new work is refused with 503 and Retry-After, /health says 503, what runs is finished. Probes still work.
  void stop_accepting() noexcept;

  // Completes with true when no request is being answered any more, with false at the deadline. After
  // stop_accepting() that is the end of the work, not of the connections.
  Task<bool> wait_until_idle(TimePoint deadline);

  // Ends everything: connections are closed, their generations destroyed. run() completes soon after.
  void close() noexcept;

  std::size_t open_connections() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baton
