#include "roles/http/http_connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "roles/http/api.h"
#include "roles/http/api_error.h"
#include "roles/http/http_head.h"
#include "roles/http/http_metrics.h"
#include "runtime/check.h"

namespace baton {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::deferred);

// What a client may send ahead while it is being answered; with that it is no longer watched for going away.
constexpr std::size_t kAheadBytesMax = 64 << 10;
constexpr std::size_t kReadBytes = 8 << 10;

// Counts an exchange as long as it lives.
class Answering final {
 public:
  explicit Answering(ConnectionHost& host) noexcept : host_(host) {
    ++host_.answering;
    host_.metrics.request_begins();
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering() {
    host_.metrics.request_ends();
    if (--host_.answering == 0) {
      host_.idle.notify();
    }
  }

 private:
  ConnectionHost& host_;
};

}  // namespace

// Takes a flag of the connection back when a helper ends, however it ends, and says so.
class HttpConnection::Flag final {
 public:
  Flag(HttpConnection& connection, bool& flag) noexcept : connection_(connection), flag_(flag) {}
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  ~Flag() {
    flag_ = false;
    connection_.helper_ended_.notify();
  }

 private:
  HttpConnection& connection_;
  bool& flag_;
};

struct HttpConnection::Reading {
  http::request_parser<http::string_body> parser;
};

HttpConnection::HttpConnection(ConnectionHost& host, Socket socket)
    : host_(host),
      socket_(std::move(socket)),
      buffer_(host.config.header_bytes_max + kAheadBytesMax + kReadBytes),
      unsent_changed_(host.context, "http events to send"),
      helper_ended_(host.context, "http connection's helpers") {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // an event must not wait for the one before it
  host_.metrics.connection_opened();
}

HttpConnection::~HttpConnection() {
  host_.metrics.connection_closed();
}

Task<> HttpConnection::serve(std::shared_ptr<HttpConnection> self) {
  for (;;) {
    const bool readable = co_await self->read_request();
    if (!readable) {
      break;
    }
    co_await self->answer();
    if (!self->keep_ || self->gone_) {
      break;
    }
  }
  co_await self->linger();
}

Task<> HttpConnection::refuse(std::shared_ptr<HttpConnection> self) {
  self->keep_ = false;
  HttpResponse response(503, error_body(ApiError(503, "the server has as many connections as it may have")));
  response.retry_after = retry_after_seconds(self->host_.config.retry_after_unavailable);
  std::string bytes = self->head_of(response) + response.body;
  co_await self->send(std::move(bytes));
  co_await self->linger();
}

void HttpConnection::check_deadline(TimePoint now) noexcept {
  if (now < deadline_) {
    return;
  }
  forget_deadline();
  expired_ = true;
  error_code ignored;
  if (deadline_is_for_writing_) {
    close();
  } else {
    socket_.cancel(ignored);
  }
}

void HttpConnection::close() noexcept {
  lose_client();
  error_code ignored;
  socket_.close(ignored);
}

void HttpConnection::set_deadline(Duration from_now, bool writing) noexcept {
  deadline_ = add_saturating(host_.context.now(), from_now);
  deadline_is_for_writing_ = writing;
}

void HttpConnection::lose_client() noexcept {
  if (gone_) {
    return;
  }
  gone_ = true;
  unsent_.clear();
  if (auto callback = std::exchange(on_gone_, nullptr)) {
    host_.metrics.client_gone();
    callback();
  }
  unsent_changed_.notify();
}

// --- reading ---------------------------------------------------------------------------------------------------

Task<bool> HttpConnection::await_first_byte() {
  set_deadline(host_.config.idle_time_max, false);
  auto room = buffer_.prepare(kReadBytes);
  auto [error, count] = co_await socket_.async_read_some(room, kTuple);
  forget_deadline();
  buffer_.commit(count);
  co_return !error;
}

Task<bool> HttpConnection::read_request() {
  if (buffer_.size() == 0) {
    const bool came = co_await await_first_byte();
    if (!came) {
      keep_ = false;
      co_return false;
    }
  }
  Reading reading;
  reading.parser.header_limit(static_cast<std::uint32_t>(host_.config.header_bytes_max));
  reading.parser.body_limit(host_.config.body_bytes_max);
  set_deadline(host_.config.header_time_max, false);
  auto [error, count] = co_await http::async_read_header(socket_, buffer_, reading.parser, kTuple);
  forget_deadline();
  if (error) {
    co_return co_await reading_failed(error, count > 0 || buffer_.size() > 0);
  }
  co_return co_await read_body(reading);
}

Task<bool> HttpConnection::read_body(Reading& reading) {
  const auto& head = reading.parser.get();
  const bool asks_to_go_on = beast::iequals(head[http::field::expect], "100-continue");
  if (asks_to_go_on && head.version() >= 11 && !reading.parser.is_done() && buffer_.size() == 0) {
    std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await send(std::move(go_on));
  }
  set_deadline(host_.config.body_time_max, false);
  auto [error, count] = co_await http::async_read(socket_, buffer_, reading.parser, kTuple);
  forget_deadline();
  if (error) {
    co_return co_await reading_failed(error, true);
  }
  take_request(reading);
  co_return true;
}

void HttpConnection::take_request(Reading& reading) {
  auto& message = reading.parser.get();
  version_ = message.version();
  keep_ = message.keep_alive();
  request_.method = std::string(message.method_string());
  wants_body_ = request_.method != "HEAD";
  request_.path = path_of_target(std::string_view(message.target().data(), message.target().size()));
  const auto id = message["X-Request-Id"];
  request_.request_id = harmless_id(std::string_view(id.data(), id.size()));
  if (request_.request_id.empty()) {
    request_.request_id = host_.ids.id("req-");
  }
  request_.body = std::move(message.body());
  request_.arrived = host_.context.now();
}

// Tells the client why its request could not be read, where there is anything to tell. Always false.
Task<bool> HttpConnection::reading_failed(error_code error, bool begun) {
  keep_ = false;
  const std::optional<ApiError> reason = reading_error(error, expired_ && begun, host_.config);
  if (!reason) {
    co_return false;
  }
  host_.metrics.request_done("other", reason->status, Duration::zero());
  request_.request_id = host_.ids.id("req-");
  HttpResponse response(reason->status, error_body(*reason));
  std::string bytes = head_of(response) + response.body;
  co_await send(std::move(bytes));
  co_return false;
}

// --- answering -------------------------------------------------------------------------------------------------

Task<> HttpConnection::answer() {
  response_.reset();
  unsent_.clear();
  streaming_ = false;
  events_ended_ = false;
  const Answering answering(host_);
  co_await host_.api.handle(*this);
  co_await stop_helpers();
  if (!streaming_) {
    std::string bytes = response_bytes();
    co_await send(std::move(bytes));
  }
}

std::string HttpConnection::response_bytes() {
  if (!response_) {
    response_ = HttpResponse(500, error_body(ApiError(500, "the request was not answered")));
  }
  std::string bytes = head_of(*response_);
  if (wants_body_) {
    bytes += response_->body;
  }
  return bytes;
}

// The event writer first, since it may still have something to say; then the read that watches the client.
Task<> HttpConnection::stop_helpers() {
  if (streaming_ && !events_ended_) {
    end_events(true);
  }
  while (writing_events_) {
    co_await helper_ended_.wait();
  }
  if (watching_) {
    error_code ignored;
    socket_.cancel(ignored);
  }
  while (watching_) {
    co_await helper_ended_.wait();
  }
}

void HttpConnection::respond(HttpResponse response) {
  BATON_CHECK(!response_ && !streaming_, request_.path);
  keep_ = keep_ && !response.close;
  response_ = std::move(response);
}

void HttpConnection::begin_events() {
  BATON_CHECK(!response_ && !streaming_, request_.path);
  streaming_ = true;
  keep_ = keep_ && version_ >= 11;  // before chunks, only the end of the connection ends a body of unknown length
  if (!gone_) {
    unsent_ = event_stream_head({request_.request_id, version_, keep_});
  }
  writing_events_ = true;
  host_.scope.spawn("http events", write_events(shared_from_this()));
}

void HttpConnection::event(std::string_view data) {
  if (gone_) {
    return;
  }
  append_event(unsent_, data, version_ >= 11);
  unsent_changed_.notify();
  if (unsent_.size() + sending_.size() > host_.config.unsent_bytes_max) {
    lose_client();  // it reads more slowly than the model writes, for too long
  }
}

void HttpConnection::end_events(bool close) {
  keep_ = keep_ && !close;
  if (!gone_ && version_ >= 11) {
    unsent_ += kLastChunk;
  }
  events_ended_ = true;
  unsent_changed_.notify();
}

void HttpConnection::on_client_gone(std::function<void()> callback) {
  if (gone_ && callback) {
    return callback();
  }
  on_gone_ = std::move(callback);
  if (on_gone_ && !watching_) {
    watching_ = true;
    host_.scope.spawn("http watch", watch(shared_from_this()));
  }
}

// Reads ahead while the Api works, only to learn that there is nobody to answer any more. A client that has closed
// its sending half counts as gone, as with most servers.
Task<> HttpConnection::watch(std::shared_ptr<HttpConnection> self) {
  const Flag watching(*self, self->watching_);
  while (self->buffer_.size() < kAheadBytesMax) {
    auto room = self->buffer_.prepare(kReadBytes);
    auto [error, count] = co_await self->socket_.async_read_some(room, kTuple);
    self->buffer_.commit(count);
    if (error == asio::error::operation_aborted) {
      break;
    }
    if (error) {
      self->lose_client();
      break;
    }
  }
}

// Sends what is ready, whole events only, until the stream has ended or the client has gone.
Task<> HttpConnection::write_events(std::shared_ptr<HttpConnection> self) {
  const Flag writing(*self, self->writing_events_);
  for (;;) {
    while (!self->unsent_.empty() && !self->gone_) {
      self->sending_ = std::exchange(self->unsent_, {});
      co_await self->send_buffer();
    }
    if (self->events_ended_ || self->gone_) {
      break;
    }
    co_await self->unsent_changed_.wait();
  }
}

Task<> HttpConnection::send(std::string bytes) {
  sending_ = std::move(bytes);
  co_await send_buffer();
}

// Writes sending_ and empties it; a failure means that the client has gone.
Task<> HttpConnection::send_buffer() {
  set_deadline(host_.config.write_time_max, true);
  auto [error, count] = co_await asio::async_write(socket_, asio::buffer(sending_), kTuple);
  forget_deadline();
  sending_.clear();
  if (error) {
    lose_client();
  }
}

// Says that nothing more will come and throws away what the client still sends: closing with unread input would reset
// the connection and might destroy the answer on its way.
Task<> HttpConnection::linger() {
  if (gone_) {
    co_return;
  }
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  set_deadline(host_.config.linger_time_max, false);
  std::size_t left = host_.config.body_bytes_max;
  while (left > 0) {
    buffer_.clear();
    auto room = buffer_.prepare(kReadBytes);
    auto [error, count] = co_await socket_.async_read_some(room, kTuple);
    if (error) {
      break;
    }
    left -= std::min(left, count);
  }
  forget_deadline();
}

std::string HttpConnection::head_of(const HttpResponse& response) const {
  return response_head(response, {request_.request_id, version_, keep_});
}

}  // namespace baton
