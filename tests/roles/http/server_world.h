// A server with a scripted generator on one real context, and the client side of a test beside it.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "roles/http/http_server.h"
#include "runtime/metrics.h"
#include "runtime/real_context.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/model/text/byte_vocabulary.h"
#include "tests/roles/http/fake_generator.h"
#include "tests/roles/http/test_client.h"
#include "tests/support/run.h"

namespace baton::test {

struct ServerWorld {
  ServerWorld() {
    config.port = 0;
    config.random_seed = 1;
  }

  // Runs the server, and the client's part until it has ended; then closes the server and waits for it. Demands that
  // nothing is left. Fails after 20 seconds.
  void run(Task<> (*part)(ServerWorld&)) {
    server = std::make_unique<HttpServer>(
        context, generator, ServedModel{"toy", tokenizer, ChatTemplate(ChatFamily::chatml), 1700000000, 0}, config,
        registry);
    test::run(context, live(part));
    if (generator.counts.live != 0 || server->open_connections() != 0) {
      throw std::runtime_error("something was left behind");
    }
    server.reset();
  }

  std::unique_ptr<TestClient> client(int receive_buffer_bytes = 0) {
    return std::make_unique<TestClient>(context, server->port(), receive_buffer_bytes);
  }

  // Waits until the condition holds, looking every millisecond; the watchdog ends it otherwise.
  Task<> until(std::function<bool()> condition) {
    while (!condition()) {
      co_await sleep_until(context, context.now() + std::chrono::milliseconds(1));
    }
  }

  RealContext context;
  FakeGenerator generator{context};
  Tokenizer tokenizer{byte_vocabulary()};
  MetricsRegistry registry;
  HttpConfig config;
  std::unique_ptr<HttpServer> server;

 private:
  Task<> live(Task<> (*part)(ServerWorld&)) {
    Scope scope(context, "world");
    scope.spawn("server", server->run());
    TaskHandle watchdog = scope.spawn("watchdog", watch());
    scope.spawn("client", attend(part, watchdog));
    co_await scope.join();
  }

  Task<> attend(Task<> (*part)(ServerWorld&), TaskHandle watchdog) {
    co_await part(*this);
    server->close();
    watchdog.cancel();
  }

  Task<> watch() {
    const bool slept = co_await sleep_until(context, context.now() + std::chrono::seconds(20));
    if (slept) {
      throw std::runtime_error("the test takes too long:\n" + context.wait_report());
    }
  }
};

// A request with a body, as clients write it.
inline std::string post(const std::string& path, const std::string& body, const std::string& fields = {}) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nX-Request-Id: r1\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string get(const std::string& path, const std::string& fields = {}) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nX-Request-Id: r1\r\n" + fields + "\r\n";
}

}  // namespace baton::test
