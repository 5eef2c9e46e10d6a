// A client that speaks raw bytes over loopback, for the server's tests. On the server's own context.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/task.h"

namespace baton::test {

class TestClient final {
 public:
  TestClient(Context& context, std::uint16_t port, int receive_buffer_bytes = 0);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  Task<> connect();
  Task<> send(std::string bytes);

  // Everything up to and including the mark; what came beyond it stays for the next call. An empty mark means the end
  // of the stream. Where the stream ends before, what there was.
  Task<std::string> read_until(std::string mark);
  // One response with Content-Length: head and body.
  Task<std::string> read_response();
  // True when the server has closed and nothing is left unread.
  Task<bool> at_end();

  void close();          // with a FIN
  void reset();          // with a RST
  void shutdown_send();  // the half that sends only

 private:
  Task<bool> read_more();

  struct Connection;
  std::unique_ptr<Connection> connection_;
  std::string unread_;
};

}  // namespace baton::test
