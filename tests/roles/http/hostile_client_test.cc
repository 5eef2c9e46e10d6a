// Clients that are slow, broken or hostile: each gets a clear answer or none, and nobody else notices.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "tests/roles/http/server_world.h"

namespace baton {
namespace {

using test::get;
using test::post;
using test::ServerWorld;
using test::TestClient;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sends the bytes and returns all the server says until it closes.
Task<std::string> say(ServerWorld& world, std::string bytes) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(std::move(bytes));
  std::string answer = co_await client->read_until("");
  co_return answer;
}

Task<> stay_half_open(ServerWorld& world) {
  auto silent = world.client();
  co_await silent->connect();
  auto in_head = world.client();
  co_await in_head->connect();
  co_await in_head->send("GET /health HTTP/1.1\r\nHo");
  auto in_body = world.client();
  co_await in_body->connect();
  co_await in_body->send("POST /tokenize HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  auto after_answer = world.client();
  co_await after_answer->connect();
  co_await after_answer->send(get("/health"));
  const std::string healthy = co_await after_answer->read_response();
  CHECK(contains(healthy, "200 OK"));

  const std::string nothing = co_await silent->read_until("");
  CHECK(nothing.empty());
  const std::string late_head = co_await in_head->read_until("");
  CHECK(late_head.starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  CHECK(contains(late_head, R"("type":"TimeoutError")"));
  const std::string late_body = co_await in_body->read_until("");
  CHECK(late_body.starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  const bool closed = co_await after_answer->at_end();
  CHECK(closed);
}

Task<> drip(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  const std::string request = "GET /health HTTP/1.1\r\nX-Slow: " + std::string(1000, 'x');
  const TimePoint start = world.context.now();
  for (const char c : request) {  // every byte in time, the whole never
    co_await client->send(std::string(1, c));
    co_await sleep_until(world.context, world.context.now() + std::chrono::milliseconds(2));
    if (world.server->open_connections() == 0) {
      break;
    }
  }
  CHECK(world.context.now() - start < std::chrono::seconds(2));
  const std::string answer = co_await client->read_until("");
  CHECK((answer.empty() || answer.starts_with("HTTP/1.1 408 ")));
}

Task<> flood(ServerWorld& world) {
  std::string many = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 10000; ++i) {
    many += "X-Field-" + std::to_string(i) + ": value\r\n";
  }
  const std::string fields = co_await say(world, many + "\r\n");
  CHECK(fields.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
  CHECK(contains(fields, "larger than 16384 bytes"));
  const std::string line = co_await say(world, "GET /" + std::string(1 << 20, 'x'));
  CHECK(line.starts_with("HTTP/1.1 431 "));
  const std::string endless = co_await say(world, "GET /health HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'));
  CHECK(endless.starts_with("HTTP/1.1 431 "));
}

Task<> send_too_much(ServerWorld& world) {
  const std::string stated = co_await say(world, post("/tokenize", std::string(5000, 'x')));
  CHECK(stated.starts_with("HTTP/1.1 413 Payload Too Large\r\n"));
  CHECK(contains(stated, "larger than 1000 bytes"));
  std::string body = "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) {
    body += "64\r\n" + std::string(100, 'x') + "\r\n";
  }
  const std::string chunked = co_await say(world, body + "0\r\n\r\n");
  CHECK(chunked.starts_with("HTTP/1.1 413 "));
  const std::string huge =
      co_await say(world, "POST /tokenize HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n");
  CHECK(huge.starts_with("HTTP/1.1 4"));
}

Task<> speak_otherwise(ServerWorld& world) {
  const std::string http2 = co_await say(world, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  CHECK(http2.starts_with("HTTP/1.1 505 "));
  for (const char* words : {"\x16\x03\x01\x02\x01hello over TLS\r\n\r\n", "hello\r\n\r\n", "GET /\r\n\r\n",
                            "GET / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                            "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    CAPTURE(words);
    const std::string answer = co_await say(world, words);
    CHECK(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(contains(answer, "Connection: close\r\n"));
  }
  // Both lengths at once is how requests are smuggled: it must not be read as one or the other.
  const std::string both = co_await say(world,
                                        "POST /tokenize HTTP/1.1\r\nContent-Length: 5\r\n"
                                        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  CHECK(both.starts_with("HTTP/1.1 400 "));
}

Task<> speak_noise(ServerWorld& world) {
  Random random(7);
  const std::string request = post("/v1/completions", R"({"prompt":"x"})", "Connection: close\r\n");
  for (int round = 0; round < 200; ++round) {
    std::string broken = request;
    for (int i = 0; i < 3; ++i) {
      broken[random.uniform(broken.size())] = static_cast<char>(random.uniform(256));
    }
    auto client = world.client();
    co_await client->connect();
    co_await client->send(std::move(broken));
    client->shutdown_send();
    const std::string answer = co_await client->read_until("");
    CHECK((answer.empty() || answer.starts_with("HTTP/1.1 ")));
  }
  const std::string healthy = co_await say(world, get("/health", "Connection: close\r\n"));
  CHECK(healthy.starts_with("HTTP/1.1 200 OK\r\n"));
}

Task<> ask_to_go_on(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send("POST /tokenize HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n");
  const std::string go_on = co_await client->read_until("\r\n\r\n");
  CHECK(go_on == "HTTP/1.1 100 Continue\r\n\r\n");
  co_await client->send(R"({"prompt":"x"})");
  const std::string answer = co_await client->read_response();
  CHECK(contains(answer, R"("tokens":[120])"));
  // A body that is refused for its size must not be asked for.
  co_await client->send("POST /tokenize HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
  const std::string refusal = co_await client->read_response();
  CHECK(refusal.starts_with("HTTP/1.1 413 "));
}

Task<> come_too_many(ServerWorld& world) {
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(world.client());
    co_await clients.back()->connect();
    co_await clients.back()->send(get("/health"));
    const std::string answer = co_await clients.back()->read_response();
    if (i < 2) {
      CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    } else {
      CHECK(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
      CHECK(contains(answer, "Retry-After: "));
    }
  }
  clients[0]->close();
  clients[2]->close();
  co_await world.until([&] { return world.server->open_connections() == 1; });
  const std::string again = co_await say(world, get("/health", "Connection: close\r\n"));
  CHECK(again.starts_with("HTTP/1.1 200 OK\r\n"));
}

}  // namespace

TEST_CASE("HttpServer: half-open clients are told 408, or closed without a word when they said none") {
  ServerWorld world;
  world.config.header_time_max = std::chrono::milliseconds(40);
  world.config.body_time_max = std::chrono::milliseconds(40);
  world.config.idle_time_max = std::chrono::milliseconds(60);
  world.run(stay_half_open);
}

TEST_CASE("HttpServer: a request that drips in does not live longer than the bound") {
  ServerWorld world;
  world.config.header_time_max = std::chrono::milliseconds(100);
  world.config.linger_time_max = std::chrono::milliseconds(20);
  world.run(drip);
}

TEST_CASE("HttpServer: floods of header fields are 431") {
  ServerWorld world;
  world.run(flood);
}

TEST_CASE("HttpServer: bodies above the bound are 413, stated or chunked") {
  ServerWorld world;
  world.config.body_bytes_max = 1000;
  world.run(send_too_much);
}

TEST_CASE("HttpServer: other protocols and broken requests get an answer and the end") {
  ServerWorld world;
  world.run(speak_otherwise);
}

TEST_CASE("HttpServer: noise in a request never disturbs the next client") {
  ServerWorld world;
  world.run(speak_noise);
}

TEST_CASE("HttpServer: a client that waits to send its body is told to go on") {
  ServerWorld world;
  world.run(ask_to_go_on);
}

TEST_CASE("HttpServer: connections above the bound are answered 503") {
  ServerWorld world;
  world.config.connections_max = 2;
  world.config.linger_time_max = std::chrono::milliseconds(20);
  world.run(come_too_many);
}

}  // namespace baton
