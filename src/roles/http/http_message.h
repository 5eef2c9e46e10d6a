// One request and its answer as the endpoints see them: no sockets, no Beast.
//
// An endpoint either responds once, or streams events; everything it says goes to a bounded buffer at once and is
// sent by the connection. On the server's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/time.h"

namespace baton {

struct HttpRequest {
  std::string method;  // "GET", as sent
  std::string path;    // percent-decoded, without the query
  std::string body;
  TimePoint arrived{};     // when its last byte was there
  std::string request_id;  // the client's X-Request-Id made harmless, or one of ours; echoed by the connection
};

struct HttpResponse {
  unsigned status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::optional<std::int64_t> retry_after;  // seconds
  std::string allow;                        // methods, with 405 and OPTIONS
  bool close = false;                       // the connection ends with this answer

  HttpResponse() = default;
  HttpResponse(unsigned status_in, std::string body_in) : status(status_in), body(std::move(body_in)) {}
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const HttpRequest& request() const noexcept = 0;
  // The request's body to own; request() has none from then on.
  virtual std::string take_body() noexcept = 0;

  // The whole answer. Once, and not after begin_events().
  virtual void respond(HttpResponse response) = 0;

  // Whether respond() or begin_events() was called.
  virtual bool answered() const noexcept = 0;

  // Starts an answer of server-sent events (200, text/event-stream). Once.
  virtual void begin_events() = 0;
  // One event, "data: " and the text and a blank line, sent as one write as soon as the socket takes it. The text has
  // no line ends.
  virtual void event(std::string_view data) = 0;
  // The stream is over. With `close` the connection ends with it, because something failed on the way.
  virtual void end_events(bool close) = 0;

  // Calls back once, on the server's thread, when the client has gone away or reads too slowly while the endpoint is
  // still busy; at once if it has gone already. The callback must not wait. An empty one takes the last one back,
  // which an endpoint does before what that one refers to dies. What is said to a client that has gone is thrown away.
  virtual void on_client_gone(std::function<void()> callback) = 0;
  virtual bool client_gone() const noexcept = 0;
};

// Calls back as on_client_gone() says, as long as this lives. One at a time for an exchange.
class WhenClientGone final {
 public:
  WhenClientGone(Exchange& exchange, std::function<void()> callback) : exchange_(exchange) {
    exchange_.on_client_gone(std::move(callback));
  }
  WhenClientGone(const WhenClientGone&) = delete;
  WhenClientGone& operator=(const WhenClientGone&) = delete;
  ~WhenClientGone() { exchange_.on_client_gone({}); }

 private:
  Exchange& exchange_;
};

}  // namespace baton
