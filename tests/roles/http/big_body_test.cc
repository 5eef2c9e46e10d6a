// Big bodies are read on a thread of their own: what others notice of it, and what becomes of those whose client goes.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "tests/roles/http/api_world.h"
#include "tests/roles/http/gate.h"
#include "tests/roles/http/server_world.h"

namespace baton {
namespace {

using test::ApiWorld;
using test::FakeExchange;
using test::FakeGeneration;
using test::Gate;
using test::post;
using test::ServerWorld;

constexpr std::size_t kBigIds = 200'000;

// A prompt of ids of which the last one is no id of the model: only who reads all of it can know.
std::string big_body_with_a_wrong_end() {
  std::string body = R"({"prompt":[)";
  for (std::size_t i = 0; i < kBigIds; ++i) {
    body += "97,";
  }
  return body + "999999]}";
}

std::string big_body(const std::string& fields = {}) {
  return R"({"prompt":")" + std::string(100'000, 'a') + '"' + fields + "}";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Runs the big request behind a closed gate, and meanwhile what `meanwhile` does; then opens the gate.
template <class Meanwhile>
void behind_a_gate(ApiWorld& world, FakeExchange& big, Meanwhile meanwhile) {
  Gate gate(world.body_worker);
  const auto play = [&]() -> Task<> {
    Scope scope(world.context, "play");
    scope.spawn("gate", gate.hold());
    scope.spawn("big", world.api.handle(big));
    const auto others = [&]() -> Task<> {
      CHECK(big.request().body.empty());  // taken over, so it is under way
      co_await meanwhile();
      gate.open();
    };
    scope.spawn("others", others());
    co_await scope.join();
  };
  test::run(world.context, play());
  CHECK(gate.passed());
}

}  // namespace

TEST_CASE("Api: streams go on while a big body is read") {
  ApiWorld world;
  FakeExchange big("POST", "/v1/completions", big_body_with_a_wrong_end());
  FakeExchange stream("POST", "/v1/completions", R"({"prompt":"x","stream":true})");
  FakeExchange whole("POST", "/v1/completions", R"({"prompt":"y"})");
  behind_a_gate(world, big, [&]() -> Task<> {
    co_await world.api.handle(stream);
    co_await world.api.handle(whole);
    CHECK(stream.ended);
    REQUIRE(stream.events.size() == 4);
    CHECK(whole.response->status == 200);
    CHECK_FALSE(big.response);  // nothing on this thread has looked into the body
  });
  REQUIRE(big.response);
  CHECK(big.response->status == 400);
  CHECK(contains(big.response->body, "hold token ids from 0 to"));
  CHECK_FALSE(big.on_gone);
}

TEST_CASE("Api: a big body gives the answer it would have given here") {
  const std::pair<std::string, std::string> calls[] = {
      {"/v1/completions", R"({"prompt":["abc",[97,98]],"echo":true,"n":2,"max_tokens":3,"logit_bias":{"98":1}})"},
      {"/v1/completions", R"({"prompt":[97],"truncate_prompt_tokens":5,"stream":true})"},
      {"/v1/completions", R"({"prompt":)"},
      {"/v1/completions", R"({"prompt":"x","max_tokens":100000})"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}]})"},
      {"/v1/chat/completions", R"({"messages":[{"role":"nobody","content":"x"}]})"},
      {"/tokenize", R"({"prompt":"abz","return_token_strs":true})"},
      {"/tokenize", R"({"prompt":7})"},
      {"/detokenize", R"({"tokens":[256,122,261]})"},
  };
  for (const auto& [path, body] : calls) {
    CAPTURE(path);
    CAPTURE(body);
    ApiWorld here;
    ApiWorld elsewhere;
    elsewhere.config.quick_body_bytes_max = 0;
    const FakeExchange expected = here.post(path, body);
    const FakeExchange exchange = elsewhere.post(path, body);
    CHECK(exchange.request().body.empty());  // it did take the other way
    CHECK(exchange.events == expected.events);
    REQUIRE(exchange.response.has_value() == expected.response.has_value());
    if (expected.response) {
      CHECK(exchange.response->status == expected.response->status);
      CHECK(exchange.response->body == expected.response->body);
    }
    REQUIRE(elsewhere.generator.requests.size() == here.generator.requests.size());
    for (std::size_t i = 0; i < here.generator.requests.size(); ++i) {
      CHECK(elsewhere.generator.requests[i].prompt == here.generator.requests[i].prompt);
      CHECK(elsewhere.generator.requests[i].stop.max_tokens == here.generator.requests[i].stop.max_tokens);
      CHECK(elsewhere.generator.requests[i].sampling.seed == here.generator.requests[i].sampling.seed);
    }
  }
}

TEST_CASE("Api: a big body whose client has gone starts nothing") {
  ApiWorld world;
  world.generator.context_length = 200'000;
  FakeExchange big("POST", "/v1/completions", big_body());
  behind_a_gate(world, big, [&]() -> Task<> {
    big.gone = true;
    REQUIRE(big.on_gone);
    big.on_gone();
    co_return;
  });
  CHECK(world.generator.requests.empty());
  REQUIRE(big.response);
  CHECK(big.response->status == 499);
}

TEST_CASE("Api: more big bodies than may wait are told to come back, small ones are not") {
  ApiWorld world;
  world.config.waiting_bodies_max = 1;
  BodyWorker worker(world.context, world.config.waiting_bodies_max);
  Api api(
      {world.context, world.generator, world.model, world.config, world.registry, world.metrics, world.ids, worker});
  Gate gate(worker);
  FakeExchange first("POST", "/tokenize", big_body());
  const auto play = [&]() -> Task<> {
    Scope scope(world.context, "play");
    scope.spawn("gate", gate.hold());
    scope.spawn("first", api.handle(first));
    const auto others = [&]() -> Task<> {
      FakeExchange second("POST", "/tokenize", big_body());
      co_await api.handle(second);
      REQUIRE(second.response);
      CHECK(second.response->status == 429);
      CHECK(second.response->retry_after == 1);
      FakeExchange small("POST", "/tokenize", R"({"prompt":"x"})");
      co_await api.handle(small);
      CHECK(small.response->status == 200);
      gate.open();
    };
    scope.spawn("others", others());
    co_await scope.join();
  };
  test::run(world.context, play());
  CHECK(first.response->status == 200);
}

namespace {

Task<> ask_big_and_small(ServerWorld& world) {
  world.generator.context_length = 200'000;
  auto big = world.client();
  auto small = world.client();
  co_await big->connect();
  co_await small->connect();
  co_await big->send(post("/v1/completions", big_body(R"(,"max_tokens":2)")));
  co_await small->send(post("/v1/completions", R"({"prompt":"x","stream":true})"));
  const std::string streamed = co_await small->read_until("\r\n0\r\n\r\n");
  const std::string answered = co_await big->read_response();
  CHECK(contains(streamed, "[DONE]"));
  CHECK(contains(answered, "Hello"));
  CHECK(contains(answered, R"("completion_tokens":2)"));
}

Task<> leave_big_bodies(ServerWorld& world) {
  world.generator.context_length = 200'000;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<test::TestClient>> clients;
    for (int i = 0; i < 6; ++i) {
      clients.push_back(world.client());
      co_await clients.back()->connect();
      co_await clients.back()->send(post("/v1/completions", big_body()));
    }
    for (auto& client : clients) {
      client->reset();
    }
    co_await world.until([&] { return world.server->open_connections() == 0; });
    CHECK(world.generator.counts.live == 0);
  }
  CHECK(world.generator.counts.aborted == world.generator.requests.size());
}

Task<> close_on_big_bodies(ServerWorld& world) {
  std::vector<std::unique_ptr<test::TestClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(world.client());
    co_await clients.back()->connect();
    co_await clients.back()->send(post("/tokenize", big_body()));
  }
  co_await world.until([&] { return world.server->open_connections() == 6; });
  world.server->close();
  for (auto& client : clients) {
    const std::string rest = co_await client->read_until("");
    CHECK((rest.empty() || contains(rest, "\"count\":")));
  }
}

void say_nothing(FakeGeneration&, const GenerationRequest&, std::size_t) {}

}  // namespace

TEST_CASE("HttpServer: big and small requests of several clients are answered") {
  ServerWorld world;
  world.run(ask_big_and_small);
}

TEST_CASE("HttpServer: clients that leave while their big bodies are read leave nothing behind") {
  ServerWorld world;
  world.generator.script = say_nothing;
  world.run(leave_big_bodies);
}

TEST_CASE("HttpServer: closing while big bodies are read ends everything") {
  ServerWorld world;
  world.run(close_on_big_bodies);
}

}  // namespace baton
