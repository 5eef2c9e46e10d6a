// What goes over the socket: framing, order, connections that live on, and clients that go away.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/errors.h"
#include "tests/roles/http/server_world.h"

namespace baton {
namespace {

using test::FakeGeneration;
using test::get;
using test::post;
using test::ServerWorld;
using test::TestClient;

const std::string kHealthy =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: r1\r\nContent-Length: 19\r\n\r\n"
    "{\"status\":\"usable\"}";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::string chunk(const std::string& data) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx", data.size());
  return std::string(size) + "\r\n" + data + "\r\n";
}

Task<> ask_twice(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  for (int i = 0; i < 2; ++i) {
    co_await client->send(get("/health"));
    const std::string response = co_await client->read_response();
    CHECK(response == kHealthy);
  }
  CHECK(world.server->open_connections() == 1);
  co_await client->send(get("/health", "Connection: close\r\n"));
  const std::string last = co_await client->read_response();
  CHECK(contains(last, "Connection: close\r\n"));
  const bool ended = co_await client->at_end();
  CHECK(ended);
}

Task<> ask_ahead(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(get("/version") + post("/v1/completions", R"({"prompt":"x"})") + get("/health"));
  const std::string version = co_await client->read_response();
  const std::string completion = co_await client->read_response();
  const std::string health = co_await client->read_response();
  CHECK(contains(version, "\"version\""));
  CHECK(contains(completion, "Hello"));
  CHECK(health == kHealthy);
}

Task<> stream_to_the_byte(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(
      post("/v1/completions", R"({"prompt":"x","stream":true,"stream_options":{"include_usage":true}})"));
  const std::string transcript = co_await client->read_until("\r\n0\r\n\r\n");
  const std::size_t id_place = transcript.find("cmpl-");
  REQUIRE(id_place != std::string::npos);
  const std::string start = "data: {\"id\":\"" + transcript.substr(id_place, 21) +
                            R"(","object":"text_completion","created":1700000000,"model":"toy","choices":[)";
  CHECK(transcript ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: r1\r\nCache-Control: no-cache\r\n"
        "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n" +
            chunk(start + "{\"index\":0,\"text\":\"Hel\",\"logprobs\":null,\"finish_reason\":null}]}\n\n") +
            chunk(start + "{\"index\":0,\"text\":\"lo\",\"logprobs\":null,\"finish_reason\":null}]}\n\n") +
            chunk(start + "{\"index\":0,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"length\","
                          "\"stop_reason\":null}]}\n\n") +
            chunk(start + "],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3,"
                          "\"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\n") +
            chunk("data: [DONE]\n\n") + "0\r\n\r\n");
  co_await client->send(get("/health"));  // the connection lives on
  const std::string health = co_await client->read_response();
  CHECK(health == kHealthy);
}

Task<> stream_to_an_old_client(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(
      "POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 29\r\n\r\n"
      R"({"prompt":"x","stream": true})");
  const std::string transcript = co_await client->read_until("");
  CHECK(contains(transcript, "Connection: close\r\n\r\ndata: {"));
  CHECK(transcript.ends_with("}\n\ndata: [DONE]\n\n"));
  CHECK_FALSE(contains(transcript, "chunked"));
}

Task<> each_token_at_once(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(post("/v1/completions", R"({"prompt":"x","stream":true})"));
  co_await world.until([&] { return world.generator.last != nullptr; });
  for (const char* word : {"one", "two", "three"}) {
    world.generator.last->say(word);  // the next word is only said when this one has arrived
    const std::string event = co_await client->read_until(std::string(word) + "\"");
    CHECK(count_of(event, "data: ") == 1);
  }
  world.generator.last->finish();
  const std::string rest = co_await client->read_until("0\r\n\r\n");
  CHECK(contains(rest, "[DONE]"));
}

Task<> send_ahead_while_streaming(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(post("/v1/completions", R"({"prompt":"x","stream":true})"));
  co_await world.until([&] { return world.generator.last != nullptr; });
  world.generator.last->say("one");
  const std::string first = co_await client->read_until("one");
  co_await client->send(get("/health"));
  co_await sleep_until(world.context, world.context.now() + std::chrono::milliseconds(5));
  world.generator.last->say("two");
  world.generator.last->finish();
  const std::string rest = co_await client->read_until("0\r\n\r\n");
  CHECK(contains(rest, "two"));
  const std::string health = co_await client->read_response();
  CHECK(health == kHealthy);
  CHECK(world.generator.counts.aborted == 0);
}

Task<> leave_streams(ServerWorld& world) {
  for (int how = 0; how < 3; ++how) {
    auto client = world.client();
    co_await client->connect();
    co_await client->send(post("/v1/completions", R"({"prompt":"x","stream":true,"n":2})"));
    co_await world.until([&] { return world.generator.counts.live == 2; });
    world.generator.last->say("word");
    const std::string first = co_await client->read_until("word");
    if (how == 0) {
      client->close();
    } else if (how == 1) {
      client->reset();
    } else {
      client->shutdown_send();
    }
    co_await world.until([&] { return world.generator.counts.live == 0; });
    CHECK(world.generator.counts.aborted == 2U * (static_cast<unsigned>(how) + 1));
  }
  CHECK(contains(world.registry.prometheus_text(), "baton_http_clients_gone_total 3"));
}

Task<> leave_before_the_first_token(ServerWorld& world) {
  for (const char* stream : {"true", "false"}) {
    auto client = world.client();
    co_await client->connect();
    co_await client->send(post("/v1/completions", std::string(R"({"prompt":"x","stream":)") + stream + "}"));
    co_await world.until([&] { return world.generator.counts.live == 1; });
    client->close();
    co_await world.until([&] { return world.generator.counts.live == 0 && world.server->open_connections() == 0; });
  }
  CHECK(world.generator.counts.aborted == 2);
}

Task<> never_read(ServerWorld& world) {
  auto client = world.client(4096);
  co_await client->connect();
  co_await client->send(post("/v1/completions", R"({"prompt":"x","stream":true})"));
  co_await world.until([&] { return world.generator.last != nullptr; });
  const std::string word(10000, 'x');
  for (int i = 0; i < 2000 && world.generator.counts.aborted == 0; ++i) {
    world.generator.last->say(word);
    co_await yield(world.context);
  }
  co_await world.until([&] { return world.generator.counts.live == 0; });
  CHECK(world.generator.counts.aborted == 1);
  co_await world.until([&] { return world.server->open_connections() == 0; });
}

Task<> never_read_an_answer(ServerWorld& world) {
  auto client = world.client(4096);
  co_await client->connect();
  co_await client->send(post("/v1/completions", R"({"prompt":"x"})"));
  co_await world.until([&] { return world.generator.requests.size() == 1; });
  co_await world.until([&] { return world.server->open_connections() == 0; });
}

Task<> refuse_over_the_wire(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(post("/v1/completions", "{"));
  const std::string response = co_await client->read_response();
  CHECK(response.starts_with("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nX-Request-Id: r1\r\n"));
  CHECK(contains(response, R"({"error":{"message":"the body is not valid JSON: )"));
  CHECK(response.ends_with(R"(","type":"BadRequestError","param":null,"code":400}})"));
  co_await client->send("HEAD /health HTTP/1.1\r\n\r\n");
  const std::string head = co_await client->read_until("\r\n\r\n");
  CHECK(contains(head, "Content-Length: 19"));
  co_await client->send("OPTIONS * HTTP/1.1\r\n\r\n");
  const std::string options = co_await client->read_until("\r\n\r\n");
  CHECK(options.starts_with("HTTP/1.1 204 No Content\r\n"));
  CHECK(contains(options, "Allow: GET, HEAD, POST, OPTIONS"));
}

Task<> fail_in_the_middle(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(post("/v1/completions", R"({"prompt":"x","stream":true})"));
  const std::string transcript = co_await client->read_until("");
  CHECK(contains(transcript, "data: {\"error\":{\"message\":\"lost\",\"type\":\"BadGatewayError\""));
  CHECK(transcript.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
}

Task<> drain(ServerWorld& world) {
  auto streaming = world.client();
  co_await streaming->connect();
  co_await streaming->send(post("/v1/completions", R"({"prompt":"x","stream":true})"));
  co_await world.until([&] { return world.generator.last != nullptr; });
  world.server->stop_accepting();
  auto late = world.client();
  co_await late->connect();
  co_await late->send(post("/v1/completions", R"({"prompt":"x"})"));
  const std::string refusal = co_await late->read_response();
  CHECK(refusal.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
  CHECK(contains(refusal, "Retry-After: 5\r\n"));
  CHECK(contains(refusal, "Connection: close\r\n"));
  const bool idle_too_early =
      co_await world.server->wait_until_idle(world.context.now() + std::chrono::milliseconds(5));
  CHECK_FALSE(idle_too_early);
  world.generator.last->say("still");
  world.generator.last->finish();
  const std::string rest = co_await streaming->read_until("");  // finished, and then closed
  CHECK(contains(rest, "still"));
  CHECK(contains(rest, "[DONE]"));
  const bool idle = co_await world.server->wait_until_idle(kNever);
  CHECK(idle);
}

Task<> close_in_the_middle(ServerWorld& world) {
  auto client = world.client();
  co_await client->connect();
  co_await client->send(post("/v1/completions", R"({"prompt":"x","stream":true,"n":2})"));
  co_await world.until([&] { return world.generator.counts.live == 2; });
  world.generator.last->say("word");
  const std::string first = co_await client->read_until("word");
  world.server->close();
  const std::string rest = co_await client->read_until("");
  CHECK_FALSE(contains(rest, "[DONE]"));
  co_await world.until([&] { return world.generator.counts.live == 0; });
}

void say_nothing(FakeGeneration&, const GenerationRequest&, std::size_t) {}

}  // namespace

TEST_CASE("HttpServer: a connection serves one request after the other until it is to close") {
  ServerWorld world;
  world.run(ask_twice);
}

TEST_CASE("HttpServer: requests sent ahead are answered in order") {
  ServerWorld world;
  world.run(ask_ahead);
}

TEST_CASE("HttpServer: a stream is right to the byte, and the connection lives on") {
  ServerWorld world;
  world.run(stream_to_the_byte);
}

TEST_CASE("HttpServer: an HTTP/1.0 client gets its stream unframed and then the end") {
  ServerWorld world;
  world.run(stream_to_an_old_client);
}

TEST_CASE("HttpServer: every token is sent at once") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(each_token_at_once);
}

TEST_CASE("HttpServer: a request sent ahead does not disturb a stream and is not lost") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(send_ahead_while_streaming);
}

TEST_CASE("HttpServer: a client that leaves its stream aborts all of its generations") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(leave_streams);
}

TEST_CASE("HttpServer: a client that leaves before the first token aborts its generation") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(leave_before_the_first_token);
}

TEST_CASE("HttpServer: a client that does not read its stream is given up at the bound") {
  ServerWorld world;
  world.config.unsent_bytes_max = 64 << 10;
  world.generator.script = say_nothing;
  world.run(never_read);
}

TEST_CASE("HttpServer: a client that does not read its answer is given up in time") {
  ServerWorld world;
  world.config.write_time_max = std::chrono::milliseconds(40);
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generation.say(std::string(32 << 20, 'x'));
    generation.finish();
  };
  world.run(never_read_an_answer);
}

TEST_CASE("HttpServer: refusals, HEAD and OPTIONS leave the connection usable") {
  ServerWorld world;
  world.run(refuse_over_the_wire);
}

TEST_CASE("HttpServer: a failure in the middle of a stream ends it and the connection") {
  ServerWorld world;
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generation.say("a");
    generation.fail(Errc::transfer_failed, "lost");
  };
  world.run(fail_in_the_middle);
}

TEST_CASE("HttpServer: draining refuses new work and finishes what runs") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(drain);
}

TEST_CASE("HttpServer: closing ends streams and destroys their generations") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(close_in_the_middle);
}

TEST_CASE("HttpServer: an address that is taken or no address is an error that names it") {
  ServerWorld first;
  const ServedModel model{"toy", first.tokenizer, {}, 0, 0};
  HttpServer server(first.context, first.generator, model, first.config, first.registry);
  HttpConfig taken = first.config;
  taken.port = server.port();
  try {
    const HttpServer second(first.context, first.generator, model, taken, first.registry);
    FAIL("two servers on one port");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::unavailable);
    CHECK(contains(error.what(), "127.0.0.1:" + std::to_string(taken.port)));
  }
  HttpConfig nowhere = first.config;
  nowhere.host = "no such host";
  CHECK_THROWS_AS(HttpServer(first.context, first.generator, model, nowhere, first.registry), Error);
}

}  // namespace baton
