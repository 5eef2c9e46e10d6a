// The endpoints without sockets: what is said to the client, in which order.
#include "roles/http/api.h"

#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <doctest/doctest.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/roles/http/api_world.h"

namespace baton {
namespace {

using test::ApiWorld;
using test::FakeExchange;
using test::FakeGeneration;

boost::json::value json_of(const std::string& text) {
  return boost::json::parse(text);
}

std::string message_of(const FakeExchange& exchange) {
  REQUIRE(exchange.response);
  return std::string(json_of(exchange.response->body).at("error").at("message").get_string());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Api: a completion gives its text and usage") {
  ApiWorld world;
  const FakeExchange exchange = world.post("/v1/completions", R"({"prompt":"abc","max_tokens":5,"seed":9})");
  REQUIRE(exchange.response);
  CHECK(exchange.response->status == 200);
  const auto answer = json_of(exchange.response->body);
  CHECK(answer.at("choices").at(0).at("text").get_string() == "Hello");
  CHECK(answer.at("usage").at("prompt_tokens").to_number<int>() == 1);  // "abc" is one token here
  CHECK(answer.at("usage").at("completion_tokens").to_number<int>() == 2);
  REQUIRE(world.generator.requests.size() == 1);
  const GenerationRequest& request = world.generator.requests[0];
  CHECK(request.prompt == std::vector<TokenId>{258});
  CHECK(request.stop.max_tokens == 5);
  CHECK(request.sampling.seed == 9);
  CHECK(request.client_id == "req-1");
}

TEST_CASE("Api: a streamed chat is told chunk by chunk, usage after the end, then DONE") {
  ApiWorld world;
  const FakeExchange exchange = world.post(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}})");
  CHECK_FALSE(exchange.response);
  REQUIRE(exchange.events.size() == 5);
  CHECK(contains(exchange.events[0], R"("delta":{"role":"assistant","content":"Hel"})"));
  CHECK(contains(exchange.events[1], R"("delta":{"content":"lo"})"));
  CHECK(contains(exchange.events[2], R"("delta":{"content":""},"logprobs":null,"finish_reason":"length")"));
  CHECK(contains(exchange.events[3], R"("choices":[],"usage")"));
  CHECK(exchange.events[4] == "[DONE]");
  CHECK(exchange.ended);
  CHECK_FALSE(exchange.closes);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_FALSE(contains(exchange.events[i], "usage"));
  }
}

TEST_CASE("Api: tokens whose text is held back are told with the next text") {
  ApiWorld world;
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generation.say("");
    generation.say("ab");
    generation.say("");
    generation.finish(FinishReason::stop, "cd");
  };
  const FakeExchange exchange = world.post("/v1/completions",
                                           R"({"prompt":"x","stream":true,"logprobs":0,"return_token_ids":true,
          "stream_options":{"continuous_usage_stats":true}})");
  REQUIRE(exchange.events.size() == 3);
  CHECK(contains(exchange.events[0], R"("text":"ab","logprobs":{"text_offset":[0,1])"));
  CHECK(contains(exchange.events[0], R"("prompt_token_ids":[120],"token_ids":[32,97])"));
  CHECK(contains(exchange.events[0], R"("completion_tokens":2)"));
  CHECK(contains(exchange.events[1], R"("text":"cd","logprobs":{"text_offset":[2])"));
  CHECK(contains(exchange.events[1], R"("token_ids":[32])"));
  CHECK(contains(exchange.events[1], R"("completion_tokens":3)"));
}

TEST_CASE("Api: samples and prompts start together and keep their places") {
  ApiWorld world;
  std::vector<FakeGeneration*> generations;
  world.generator.script = [&](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generations.push_back(&generation);
    if (generations.size() == 4) {  // all have started before any says a word; they end in reverse
      for (std::size_t i = 4; i-- > 0;) {
        generations[i]->say(std::string(1, static_cast<char>('A' + i)));
        generations[i]->finish();
      }
    }
  };
  const FakeExchange exchange = world.post("/v1/completions", R"({"prompt":["p","q"],"n":2,"seed":4})");
  REQUIRE(exchange.response);
  const auto answer = json_of(exchange.response->body);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& choice = answer.at("choices").at(i);
    CHECK(choice.at("index").to_number<std::size_t>() == i);
    CHECK(choice.at("text").get_string() == std::string(1, static_cast<char>('A' + i)));
  }
  CHECK(answer.at("usage").at("prompt_tokens").to_number<int>() == 2);
  CHECK(answer.at("usage").at("completion_tokens").to_number<int>() == 4);
  const auto& requests = world.generator.requests;
  CHECK(requests[0].prompt == std::vector<TokenId>{'p'});
  CHECK(requests[2].prompt == std::vector<TokenId>{'q'});
  CHECK(requests[0].sampling.seed == 4);
  CHECK(requests[0].sampling.seed != requests[1].sampling.seed);
  CHECK(requests[1].sampling.seed == requests[3].sampling.seed);
}

TEST_CASE("Api: streamed samples carry their index and one end each") {
  ApiWorld world;
  const FakeExchange exchange =
      world.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"n":3,"stream":true})");
  std::vector<std::string> texts(3);
  std::vector<int> ends(3);
  for (std::size_t i = 0; i + 1 < exchange.events.size(); ++i) {
    const auto chunk = json_of(exchange.events[i]);
    REQUIRE(chunk.at("choices").as_array().size() == 1);
    const auto& choice = chunk.at("choices").at(0);
    const auto index = choice.at("index").to_number<std::size_t>();
    CHECK(choice.at("delta").as_object().contains("role") == texts[index].empty());
    texts[index] += choice.at("delta").at("content").get_string().c_str();
    ends[index] += choice.at("finish_reason").is_null() ? 0 : 1;
  }
  CHECK(texts == std::vector<std::string>(3, "Hello"));
  CHECK(ends == std::vector<int>(3, 1));
  CHECK(exchange.events.back() == "[DONE]");
}

TEST_CASE("Api: echo puts the prompt before the text, streamed or not") {
  ApiWorld world;
  const FakeExchange whole = world.post("/v1/completions", R"({"prompt":["say ","[97]"],"echo":true})");
  CHECK(contains(whole.response->body, R"("text":"say Hello")"));
  const FakeExchange streamed = world.post("/v1/completions", R"({"prompt":[104,105],"echo":true,"stream":true})");
  CHECK(contains(streamed.events[0], R"("text":"hiHel")"));
  CHECK(contains(streamed.events[1], R"("text":"lo")"));
}

TEST_CASE("Api: cached tokens of a prompt count once, however many samples it has") {
  ApiWorld world;
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t number) {
    FinishEvent event;
    event.reason = FinishReason::stop;
    event.usage.cached_tokens = number == 0 ? 1 : 2;
    event.usage.completion_tokens = 3;
    generation.finish_with(std::move(event));
  };
  const FakeExchange exchange = world.post("/v1/completions", R"({"prompt":"xy","n":2})");
  const auto usage = json_of(exchange.response->body).at("usage");
  CHECK(usage.at("prompt_tokens_details").at("cached_tokens").to_number<int>() == 1);
  CHECK(usage.at("completion_tokens").to_number<int>() == 6);
  CHECK(usage.at("total_tokens").to_number<int>() == 8);
}

TEST_CASE("Api: a failure before the first token is a status, with Retry-After where it helps") {
  struct Case {
    Errc code;
    unsigned status;
    bool retry;
  };
  for (const Case& test :
       {Case{Errc::overloaded, 429, true}, Case{Errc::unavailable, 503, true}, Case{Errc::too_large, 400, false},
        Case{Errc::peer_lost, 502, false}, Case{Errc::timeout, 504, false}, Case{Errc::internal, 500, false}}) {
    for (const char* stream : {"true", "false"}) {
      ApiWorld world;
      world.generator.script = [&](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
        generation.fail(test.code, "because");
      };
      const FakeExchange exchange =
          world.post("/v1/completions", std::string(R"({"prompt":"x","stream":)") + stream + "}");
      REQUIRE(exchange.response);
      CHECK(exchange.response->status == test.status);
      CHECK(message_of(exchange) == "because");
      CHECK(exchange.response->retry_after.has_value() == test.retry);
      CHECK(exchange.events.empty());
    }
  }
}

TEST_CASE("Api: a failure after the first token is an error event, DONE, and the end of the connection") {
  ApiWorld world;
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t number) {
    generation.say("a");
    if (number == 0) {
      generation.fail(Errc::transfer_failed, "lost");
    }
  };
  const FakeExchange exchange = world.post("/v1/completions", R"({"prompt":"x","stream":true,"n":2})");
  REQUIRE(exchange.events.size() >= 3);
  CHECK(exchange.events[exchange.events.size() - 2] ==
        R"({"error":{"message":"lost","type":"BadGatewayError","param":null,"code":502}})");
  CHECK(exchange.events.back() == "[DONE]");
  CHECK(exchange.closes);
  CHECK(world.generator.counts.aborted == 1);  // the other sample
}

TEST_CASE("Api: a client that goes away aborts all samples of its request") {
  for (const char* stream : {"true", "false"}) {
    ApiWorld world;
    world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
      generation.say("a");  // and never an end
    };
    FakeExchange exchange("POST", "/v1/completions", std::string(R"({"prompt":"x","n":3,"stream":)") + stream + "}");
    const auto leave = [](SimContext& context, FakeExchange& client) -> Task<> {
      co_await sleep_until(context, context.now() + std::chrono::seconds(1));
      client.gone = true;
      std::exchange(client.on_gone, nullptr)();
    };
    const auto both = [&](Scope& scope) -> Task<> {
      scope.spawn("leave", leave(world.context, exchange));
      co_await world.api.handle(exchange);
    };
    test::run(world.context, in_scope(world.context, "client", both));
    CHECK(world.generator.counts.aborted == 3);
    CHECK(world.generator.counts.live == 0);
  }
}

TEST_CASE("Api: a cancelled answer destroys its generations") {
  ApiWorld world;
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generation.say("a");
  };
  FakeExchange exchange("POST", "/v1/completions", R"({"prompt":"x","n":2})");
  Scope scope(world.context, "test");
  scope.spawn("answer", world.api.handle(exchange));
  while (world.context.step()) {
  }
  CHECK(world.generator.counts.live == 2);
  scope.cancel();
  while (world.context.step()) {
  }
  CHECK(scope.live() == 0);
  CHECK(world.generator.counts.live == 0);
  CHECK_FALSE(exchange.on_gone);
}

TEST_CASE("Api: prompts that do not fit are refused with the numbers before anything starts") {
  ApiWorld world;
  const std::string prompt(95, 'x');
  const FakeExchange exchange = world.post("/v1/completions", R"({"max_tokens":10,"prompt":["a",")" + prompt + "\"]}");
  CHECK(exchange.response->status == 400);
  CHECK(contains(message_of(exchange), "maximum context length is 100 tokens, but 105 were asked for: 95"));
  CHECK(world.generator.requests.empty());
  CHECK(world.post("/v1/completions", R"({"prompt":""})").response->status == 400);
}

TEST_CASE("Api: chat without a limit may use what is left of the context") {
  ApiWorld world;
  world.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}]})");
  REQUIRE(world.generator.requests.size() == 1);
  const auto& request = world.generator.requests[0];
  CHECK(request.prompt.size() + request.stop.max_tokens == 100);
}

TEST_CASE("Api: a template's refusal and a missing template are 400") {
  ApiWorld world;
  const FakeExchange role = world.post("/v1/chat/completions", R"({"messages":[{"role":"tool","content":"x"}]})");
  CHECK(role.response->status == 400);
  CHECK(contains(message_of(role), "tool"));
  world.model.chat_template.reset();
  CHECK(contains(message_of(world.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}]})")),
                 "no chat template"));
}

TEST_CASE("Api: control tokens in a message stay text, in a raw prompt they are tokens") {
  ApiWorld world;
  world.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"<|end|>"}],"max_tokens":1})");
  world.post("/v1/completions", R"({"prompt":"<|end|>"})");
  REQUIRE(world.generator.requests.size() == 2);
  for (const TokenId id : world.generator.requests[0].prompt) {
    CHECK(id != 261);
  }
  CHECK(world.generator.requests[1].prompt == std::vector<TokenId>{261});
}

TEST_CASE("Api: starting and draining are 503, and probes see it") {
  for (const ServiceState state : {ServiceState::starting, ServiceState::draining}) {
    ApiWorld world;
    world.generator.service = state;
    for (const FakeExchange& exchange :
         {world.post("/v1/completions", R"({"prompt":"x"})"), world.call("GET", "/health"),
          world.post("/v1/chat/completions", "not even JSON"), world.call("GET", "/health_generate")}) {
      CHECK(exchange.response->status == 503);
      CHECK(exchange.response->retry_after == 5);
    }
    CHECK(world.call("GET", "/v1/models").response->status == 200);
  }
  ApiWorld world;
  world.api.drain();
  const FakeExchange exchange = world.post("/v1/completions", R"({"prompt":"x"})");
  CHECK(exchange.response->status == 503);
  CHECK(exchange.response->close);
}

TEST_CASE("Api: health_generate asks for one token through the whole path") {
  ApiWorld world;
  CHECK(world.call("GET", "/health_generate").response->status == 200);
  REQUIRE(world.generator.requests.size() == 1);
  CHECK(world.generator.requests[0].stop.max_tokens == 1);
  world.generator.script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generation.fail(Errc::peer_lost, "no decode");
  };
  CHECK(world.call("GET", "/health_generate").response->status == 502);
}

TEST_CASE("Api: models, version, ping, tokenize and detokenize") {
  ApiWorld world;
  const auto models = json_of(world.call("GET", "/v1/models").response->body);
  CHECK(models.at("data").at(0).at("id").get_string() == "org/toy");
  CHECK(models.at("data").at(0).at("max_model_len").to_number<int>() == 100);
  CHECK(json_of(world.call("GET", "/v1/models/org/toy").response->body).at("object").get_string() == "model");
  CHECK(world.call("GET", "/v1/models/other").response->status == 404);
  CHECK(world.call("GET", "/version").response->status == 200);
  CHECK(world.call("POST", "/ping").response->status == 200);
  CHECK(world.post("/tokenize", R"({"prompt":"abz","return_token_strs":true})").response->body ==
        R"({"count":2,"max_model_len":100,"tokens":[256,122],"token_strs":["ab","z"]})");
  CHECK(contains(world.post("/v1/tokenize", R"({"messages":[{"role":"user","content":"x"}]})").response->body,
                 R"("token_strs":null)"));
  CHECK(world.post("/detokenize", R"({"tokens":[256,122,261]})").response->body == R"({"prompt":"abz<|end|>"})");
  CHECK(world.post("/detokenize", R"({"tokens":[-1]})").response->status == 400);
}

TEST_CASE("Api: wrong paths and methods are told what is right") {
  ApiWorld world;
  CHECK(world.call("GET", "/nothing").response->status == 404);
  CHECK(world.call("GET", "/v1/completions").response->status == 405);
  CHECK(world.call("GET", "/v1/completions").response->allow == "POST, OPTIONS");
  CHECK(world.call("DELETE", "/health").response->status == 405);
  CHECK(world.call("OPTIONS", "/health").response->status == 204);
  CHECK(world.call("OPTIONS", "/health").response->allow == "GET, HEAD, OPTIONS");
  CHECK(world.call("OPTIONS", "*").response->status == 204);
  CHECK(world.call("HEAD", "/health").response->status == 200);
}

TEST_CASE("Api: what is counted can be read at /metrics") {
  ApiWorld world;
  world.post("/v1/completions", R"({"prompt":"x"})");
  world.call("GET", "/a-path-a-client-made-up");
  const std::string text = world.call("GET", "/metrics").response->body;
  CHECK(contains(text, R"(baton_http_requests_total{endpoint="/v1/completions",status="200"} 1)"));
  CHECK(contains(text, R"(baton_http_requests_total{endpoint="other",status="404"} 1)"));
  CHECK(contains(text, "baton_time_to_first_token_seconds_count 1"));
  CHECK(contains(text, "baton_inter_token_seconds_count 1"));
  CHECK_FALSE(contains(text, "made-up"));
}

TEST_CASE("Api: the timeline is told only to who asks for it") {
  ApiWorld world;
  CHECK_FALSE(contains(world.post("/v1/completions", R"({"prompt":"x"})").response->body, "timeline"));
  CHECK(contains(world.post("/v1/completions", R"({"prompt":"x","return_timeline":true})").response->body,
                 R"("timeline":{"total":)"));
  const FakeExchange streamed = world.post("/v1/completions", R"({"prompt":"x","return_timeline":true,"stream":true})");
  CHECK_FALSE(contains(streamed.events[0], "timeline"));
  CHECK(contains(streamed.events[2], "timeline"));
}

}  // namespace baton
