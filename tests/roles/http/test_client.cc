#include "tests/roles/http/test_client.h"

#include <array>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace baton::test {
namespace {

using Tcp = asio::ip::tcp;
constexpr auto kTuple = asio::as_tuple(asio::deferred);

}  // namespace

struct TestClient::Connection {
  asio::basic_stream_socket<Tcp, Executor> socket;
  Tcp::endpoint server;
  std::array<char, 4096> buffer{};
};

TestClient::TestClient(Context& context, std::uint16_t port, int receive_buffer_bytes)
    : connection_(std::make_unique<Connection>(Connection{asio::basic_stream_socket<Tcp, Executor>(context.executor()),
                                                          Tcp::endpoint(asio::ip::address_v4::loopback(), port),
                                                          {}})) {
  connection_->socket.open(Tcp::v4());
  if (receive_buffer_bytes > 0) {
    connection_->socket.set_option(asio::socket_base::receive_buffer_size(receive_buffer_bytes));
  }
}

TestClient::~TestClient() = default;

Task<> TestClient::connect() {
  auto [error] = co_await connection_->socket.async_connect(connection_->server, kTuple);
  if (error) {
    throw boost::system::system_error(error);
  }
}

Task<> TestClient::send(std::string bytes) {
  // A server may close before it has read everything; what it said about that is read afterwards.
  co_await asio::async_write(connection_->socket, asio::buffer(bytes), kTuple);
}

Task<bool> TestClient::read_more() {
  auto [error, count] = co_await connection_->socket.async_read_some(asio::buffer(connection_->buffer), kTuple);
  unread_.append(connection_->buffer.data(), count);
  co_return !error;
}

Task<std::string> TestClient::read_until(std::string mark) {
  for (;;) {
    const std::size_t found = mark.empty() ? std::string::npos : unread_.find(mark);
    if (found != std::string::npos) {
      std::string text = unread_.substr(0, found + mark.size());
      unread_.erase(0, text.size());
      co_return text;
    }
    const bool more = co_await read_more();
    if (!more) {
      co_return std::exchange(unread_, {});
    }
  }
}

Task<std::string> TestClient::read_response() {
  std::string end_of_head = "\r\n\r\n";
  std::string response = co_await read_until(std::move(end_of_head));
  const std::string name = "Content-Length: ";
  const std::size_t place = response.find(name);
  const std::size_t length = place == std::string::npos ? 0 : std::stoul(response.substr(place + name.size()));
  while (unread_.size() < length) {
    const bool more = co_await read_more();
    if (!more) {
      break;
    }
  }
  response += unread_.substr(0, length);
  unread_.erase(0, length);
  co_return response;
}

Task<bool> TestClient::at_end() {
  const bool more = co_await read_more();
  co_return !more && unread_.empty();
}

void TestClient::close() {
  connection_->socket.close();
}

void TestClient::reset() {
  connection_->socket.set_option(asio::socket_base::linger(true, 0));
  connection_->socket.close();
}

void TestClient::shutdown_send() {
  connection_->socket.shutdown(Tcp::socket::shutdown_send);
}

}  // namespace baton::test
