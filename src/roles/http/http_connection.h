// One client's TCP connection: reads requests one after the other, lets the Api answer, sends what it says.
//
//   socket --> parser --> HttpRequest --> Api --> unsent bytes --> socket
//                 \--- while the Api works, a pending read notices that the client has gone
//
// A client that goes away, or leaves more unread than the bound, makes the Api's exchange fail at once (Exchange).
// All waiting for the client has a deadline, which the server's sweep enforces through check_deadline(). The only
// header that shows Asio's sockets; the server's thread only. Its coroutines share ownership of it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "roles/http/http_config.h"
#include "roles/http/http_message.h"
#include "roles/http/id_source.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "runtime/task.h"
#include "runtime/time.h"

namespace baton {

class Api;
class HttpMetrics;

// What every connection of a server uses; outlives all of them.
struct ConnectionHost {
  Context& context;
  Api& api;
  const HttpConfig& config;
  HttpMetrics& metrics;
  IdSource& ids;
  Scope& scope;               // where the connection's own coroutines run
  std::size_t answering = 0;  // exchanges the Api works on just now
  Pulse& idle;                // notified when that becomes zero
};

class HttpConnection final : public Exchange, public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

  HttpConnection(ConnectionHost& host, Socket socket);
  ~HttpConnection() override;

  // Serves until the client or the server ends the connection. Fails only by cancellation.
  static Task<> serve(std::shared_ptr<HttpConnection> self);
  // For a connection above the bound: 503, and closed.
  static Task<> refuse(std::shared_ptr<HttpConnection> self);

  // Ends a wait for the client that has lasted too long.
  void check_deadline(TimePoint now) noexcept;
  // Ends the connection as if the client had gone away.
  void close() noexcept;

  const HttpRequest& request() const noexcept override { return request_; }
  std::string take_body() noexcept override { return std::exchange(request_.body, {}); }
  void respond(HttpResponse response) override;
  bool answered() const noexcept override { return response_.has_value() || streaming_; }
  void begin_events() override;
  void event(std::string_view data) override;
  void end_events(bool close) override;
  void on_client_gone(std::function<void()> callback) override;
  bool client_gone() const noexcept override { return gone_; }

 private:
  struct Reading;  // parser of the request being read
  class Flag;

  Task<bool> await_first_byte();
  Task<bool> read_request();
  Task<bool> read_body(Reading& reading);
  Task<> answer();
  Task<> send(std::string bytes);
  Task<> send_buffer();
  Task<> linger();
  static Task<> watch(std::shared_ptr<HttpConnection> self);
  static Task<> write_events(std::shared_ptr<HttpConnection> self);
  Task<> stop_helpers();

  Task<bool> reading_failed(boost::system::error_code error, bool begun);
  void take_request(Reading& reading);
  void lose_client() noexcept;
  void forget_deadline() noexcept { deadline_ = kNever; }
  void set_deadline(Duration from_now, bool writing) noexcept;
  std::string response_bytes();
  std::string head_of(const HttpResponse& response) const;

  ConnectionHost& host_;
  Socket socket_;
  boost::beast::flat_buffer buffer_;
  Pulse unsent_changed_;
  Pulse helper_ended_;

  HttpRequest request_;
  unsigned version_ = 11;
  bool keep_ = true;        // the connection may go on after this answer
  bool wants_body_ = true;  // false: HEAD

  std::optional<HttpResponse> response_;
  std::string unsent_;   // framed events
  std::string sending_;  // those a write is taking
  bool streaming_ = false;
  bool events_ended_ = false;
  bool watching_ = false;
  bool writing_events_ = false;

  std::function<void()> on_gone_;
  bool gone_ = false;
  bool expired_ = false;
  bool deadline_is_for_writing_ = false;
  TimePoint deadline_ = kNever;
};

}  // namespace baton
