#include "roles/http/api_request.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace baton {
namespace {

ApiLimits limits() {
  ApiLimits limits;
  limits.model = "toy";
  limits.vocab_size = 300;
  limits.samples_max = 8;
  return limits;
}

// The body with "prompt" in it and whatever else is given.
std::string with(const std::string& fields) {
  return R"({"prompt":"hi")" + (fields.empty() ? "" : "," + fields) + "}";
}
std::string chat_with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (fields.empty() ? "" : "," + fields) + "}";
}

CompletionRequest completion(const std::string& fields) {
  auto request = parse_completion_request(with(fields), limits());
  REQUIRE_MESSAGE(request.has_value(), fields);
  return *request;
}

ChatRequest chat(const std::string& fields) {
  auto request = parse_chat_request(chat_with(fields), limits());
  REQUIRE_MESSAGE(request.has_value(), fields);
  return *request;
}

ApiError refusal(const std::string& body) {
  const auto request = parse_completion_request(body, limits());
  REQUIRE_MESSAGE(request.has_error(), body);
  return request.error();
}

ApiError chat_refusal(const std::string& body) {
  const auto request = parse_chat_request(body, limits());
  REQUIRE_MESSAGE(request.has_error(), body);
  return request.error();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Completion request: a cache salt is taken as it is, and is not empty") {
  CHECK(completion(R"("cache_salt":"tenant 7")").options.cache_salt == "tenant 7");
  CHECK(completion("").options.cache_salt.empty());
  CHECK(contains(refusal(with(R"("cache_salt":"")")).message, "cache_salt must be a string that is not empty"));
  CHECK(contains(refusal(with(R"("cache_salt":5)")).message, "cache_salt must be"));
}

TEST_CASE("Completion request: what is absent or null has the API's default") {
  for (const char* fields : {"", R"("model":null,"n":null,"max_tokens":null,"stop":null,"logprobs":null,"seed":null,
                                  "temperature":null,"stream_options":null,"logit_bias":null,"suffix":null)",
                             R"("model":"","user":"me","unheard_of":{"deep":[1,2]},"best_of":1,"tools":null)"}) {
    const CompletionRequest request = completion(fields);
    CHECK(request.options.n == 1);
    CHECK(request.options.max_tokens == 16U);
    CHECK_FALSE(request.options.seed);
    CHECK(request.options.sampling.temperature == 1.0F);
    CHECK_FALSE(request.options.sampling.wants_logprobs());
    CHECK_FALSE(request.options.stream);
    CHECK(request.options.stop.stop_strings.empty());
    CHECK(request.add_special_tokens);
  }
}

TEST_CASE("Completion request: every field arrives") {
  const CompletionRequest request = completion(R"(
    "model":"toy","n":2,"best_of":2,"max_tokens":7,"seed":-3,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.05,
    "repetition_penalty":1.1,"presence_penalty":-1,"frequency_penalty":2,"logit_bias":{"5":-100,"299":1.5},
    "stop":["a","b"],"stop_token_ids":[3],"min_tokens":2,"ignore_eos":true,"include_stop_str_in_output":true,
    "skip_special_tokens":false,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},
    "logprobs":3,"truncate_prompt_tokens":4,"return_token_ids":true,"return_timeline":true,"add_special_tokens":false,
    "allowed_token_ids":[1,2])");
  const RequestOptions& options = request.options;
  CHECK(options.n == 2);
  CHECK(options.max_tokens == 7U);
  CHECK(options.seed == static_cast<std::uint64_t>(-3));
  CHECK(options.sampling.temperature == 0.5F);
  CHECK(options.sampling.top_p == 0.9F);
  CHECK(options.sampling.top_k == 40);
  CHECK(options.sampling.min_p == 0.05F);
  CHECK(options.sampling.repetition_penalty == 1.1F);
  CHECK(options.sampling.presence_penalty == -1.0F);
  CHECK(options.sampling.frequency_penalty == 2.0F);
  CHECK(options.sampling.logit_bias == std::vector<std::pair<TokenId, float>>{{5, -100.0F}, {299, 1.5F}});
  CHECK(options.sampling.allowed_token_ids == std::vector<TokenId>{1, 2});
  CHECK(options.sampling.logprobs);
  CHECK(options.sampling.top_logprobs == 3);
  CHECK(options.stop.stop_strings == std::vector<std::string>{"a", "b"});
  CHECK(options.stop.stop_token_ids == std::vector<TokenId>{3});
  CHECK(options.stop.min_tokens == 2);
  CHECK(options.stop.ignore_eos);
  CHECK(options.stop.include_stop_string);
  CHECK_FALSE(options.stop.skip_special_tokens);
  CHECK(options.stream);
  CHECK(options.include_usage);
  CHECK(options.continuous_usage_stats);
  CHECK(options.truncate_prompt_tokens == 4);
  CHECK(options.return_token_ids);
  CHECK(options.return_timeline);
  CHECK_FALSE(request.add_special_tokens);
}

TEST_CASE("Completion request: a prompt is a string, strings, ids, or lists of ids") {
  const auto prompts = [](const std::string& prompt) {
    auto request = parse_completion_request("{\"prompt\":" + prompt + "}", limits());
    REQUIRE_MESSAGE(request.has_value(), prompt);
    return request->prompts;
  };
  using Ids = std::vector<TokenId>;
  CHECK(prompts(R"("")") == std::vector<PromptInput>{std::string()});
  CHECK(prompts(R"("a")") == std::vector<PromptInput>{std::string("a")});
  CHECK(prompts(R"(["a","b"])") == std::vector<PromptInput>{std::string("a"), std::string("b")});
  CHECK(prompts("[1,2]") == std::vector<PromptInput>{Ids{1, 2}});
  CHECK(prompts("[[1,2],[3]]") == std::vector<PromptInput>{Ids{1, 2}, Ids{3}});
  CHECK(prompts(R"(["a",[3]])") == std::vector<PromptInput>{std::string("a"), Ids{3}});
}

TEST_CASE("Completion request: a wrong prompt is named") {
  for (const char* prompt :
       {"null", "1", "true", "{}", "[]", "[[]]", "[1,\"a\"]", "[-1]", "[300]", "[1.5]", "[null]", "[[1],2]", "[1e300]",
        "[99999999999999999999]", "[1,2,3,[4]]", R"(["1","2","3","4","5","6","7","8","9"])"}) {
    const ApiError error = refusal(std::string("{\"prompt\":") + prompt + "}");
    CHECK(error.status == 400);
    CHECK(error.param == "prompt");
  }
  CHECK(refusal("{}").param == "prompt");
}

TEST_CASE("Requests: what is no JSON object is refused") {
  for (const char* body : {"", "x", "[1]", "null", "1", "{\"prompt\":\"a\"", "{\"prompt\":\"a\"}x", "{'prompt':'a'}",
                           "{\"prompt\":\"\xff\"}", "{\"prompt\":\"\\ud800\"}", "{\"temperature\":NaN}",
                           "{\"temperature\":Infinity}", "{\"a\":1,}"}) {
    CHECK(refusal(body).status == 400);
    CHECK(chat_refusal(body).status == 400);
  }
  const std::string deep = std::string("{\"prompt\":\"a\",\"x\":") + std::string(100000, '[');
  CHECK(contains(refusal(deep).message, "JSON"));
}

TEST_CASE("Requests: a field out of range or of another type is named with its value") {
  struct Case {
    const char* fields;
    const char* param;
    const char* part;
  };
  const Case cases[] = {
      {R"("n":0)", "n", "got 0"},
      {R"("n":9)", "n", "from 1 to 8"},
      {R"("n":1.5)", "n", "got 1.5"},
      {R"("n":"2")", "n", "got \"2\""},
      {R"("n":-1)", "n", "got -1"},
      {R"("n":1e30)", "n", "got 1E30"},
      {R"("n":18446744073709551615)", "n", "got 18446744073709551615"},
      {R"("n":true)", "n", "got true"},
      {R"("temperature":-0.1)", "temperature", "got -1E-1"},
      {R"("temperature":"hot")", "temperature", "got \"hot\""},
      {R"("temperature":1e999)", "temperature", ""},
      {R"("temperature":1e60)", "temperature", "got 1E60"},
      {R"("top_p":0)", "top_p", "got 0"},
      {R"("top_p":1.1)", "top_p", ""},
      {R"("top_k":-2)", "top_k", "got -2"},
      {R"("min_p":2)", "min_p", "got 2"},
      {R"("repetition_penalty":0)", "repetition_penalty", "above 0"},
      {R"("presence_penalty":2.5)", "presence_penalty", "from -2 to 2"},
      {R"("frequency_penalty":[])", "frequency_penalty", "got []"},
      {R"("logit_bias":{"x":1})", "logit_bias", "keys"},
      {R"("logit_bias":{"300":1})", "logit_bias", "keys"},
      {R"("logit_bias":{"-1":1})", "logit_bias", "keys"},
      {R"("logit_bias":{"1":101})", "logit_bias", "values"},
      {R"("logit_bias":{"1":"x"})", "logit_bias", "values"},
      {R"("logit_bias":[1])", "logit_bias", "object"},
      {R"("stop":1)", "stop", "got 1"},
      {R"("stop":[1])", "stop", "strings only"},
      {R"("stop":"")", "stop", "empty"},
      {R"("stop":["a",""])", "stop", "empty"},
      {R"("stop_token_ids":[300])", "stop_token_ids", "0 to 299"},
      {R"("stop_token_ids":1)", "stop_token_ids", "list"},
      {R"("max_tokens":0)", "max_tokens", "got 0"},
      {R"("max_tokens":-5)", "max_tokens", "got -5"},
      {R"("max_tokens":4294967296)", "max_tokens", "got 4294967296"},
      {R"("min_tokens":17)", "min_tokens", "at most max_tokens (16)"},
      {R"("ignore_eos":1)", "ignore_eos", "true or false"},
      {R"("seed":"x")", "seed", "got \"x\""},
      {R"("seed":1.5)", "seed", "got 1.5"},
      {R"("stream":"yes")", "stream", "got \"yes\""},
      {R"("stream_options":{"include_usage":true})", "stream_options", "unless stream"},
      {R"("stream":true,"stream_options":1)", "stream_options", "object"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options", "include_usage"},
      {R"("truncate_prompt_tokens":0)", "truncate_prompt_tokens", "got 0"},
      {R"("response_format":{"type":"json_object"})", "response_format", "json_object"},
      {R"("guided_json":{})", "guided_json", "not supported"},
      {R"("prompt_logprobs":1)", "prompt_logprobs", "not supported"},
      {R"("allowed_token_ids":[-1])", "allowed_token_ids", "0 to 299"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.fields);
    for (const ApiError& error :
         {refusal(with(test.fields)),
          chat_refusal(chat_with(std::string(std::string(test.param) == "min_tokens" ? R"("max_tokens":16,)" : "") +
                                 test.fields))}) {
      CHECK(error.status == 400);
      CHECK(error.param == test.param);
      CHECK_MESSAGE(contains(error.message, test.part), error.message);
    }
  }
}

TEST_CASE("Completion request: what only completions refuse") {
  CHECK(refusal(with(R"("logprobs":21)")).param == "logprobs");
  CHECK(refusal(with(R"("logprobs":true)")).param == "logprobs");
  CHECK(refusal(with(R"("echo":true,"logprobs":1)")).param == "echo");
  CHECK(refusal(with(R"("suffix":"x")")).param == "suffix");
  CHECK(refusal(with(R"("n":3,"best_of":2)")).param == "best_of");
  CHECK(refusal(R"({"prompt":["a","b","c"],"n":3})").param == "n");
  CHECK(completion(R"("logprobs":0)").options.sampling.logprobs);
  CHECK(completion(R"("response_format":{"type":"text"})").options.n == 1);
}

TEST_CASE("Requests: a model that is not served is 404") {
  const ApiError error = refusal(with(R"("model":"other")"));
  CHECK(error.status == 404);
  CHECK(error.param == "model");
  CHECK(contains(error.message, "`other`"));
  CHECK(refusal(with(R"("model":7)")).status == 400);
  CHECK(refusal(with("\"model\":\"" + std::string(100000, 'x') + "\"")).message.size() < 1000);
}

TEST_CASE("Requests: errors quote no more than the beginning of a long value") {
  const ApiError error =
      refusal(with("\"temperature\":\"" + std::string(29, 'x') + "\xc3\xa9" + std::string(100000, 'y') + "\""));
  CHECK(error.message.size() < 200);
  CHECK(contains(error.message, "..."));
}

TEST_CASE("Chat request: contents are strings, null or text parts, and the newer limit wins") {
  const auto request = parse_chat_request(R"({"messages":[{"role":"system","content":"be kind"},
    {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"x"},
    {"role":"assistant","content":null}],"max_tokens":3,"max_completion_tokens":5,"logprobs":true,"top_logprobs":2,
    "continue_final_message":true,"add_generation_prompt":false,"chat_template_kwargs":{"enable_thinking":false}})",
                                          limits());
  REQUIRE(request.has_value());
  REQUIRE(request->messages.size() == 3);
  CHECK(request->messages[0].role == "system");
  CHECK(request->messages[1].content == "ab");
  CHECK(request->messages[2].content.empty());
  CHECK(request->options.max_tokens == 5U);
  CHECK(request->options.sampling.logprobs);
  CHECK(request->options.sampling.top_logprobs == 2);
  CHECK(request->chat.continue_final_message);
  CHECK_FALSE(request->chat.add_generation_prompt);
  CHECK_FALSE(request->chat.enable_thinking);
  CHECK_FALSE(chat("").options.max_tokens);
}

TEST_CASE("Chat request: tools are refused unless they are not to be used") {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  CHECK(chat_refusal(chat_with(tools)).param == "tools");
  CHECK(chat_refusal(chat_with(tools + R"(,"tool_choice":"auto")")).param == "tools");
  CHECK(chat(tools + R"(,"tool_choice":"none")").messages.size() == 1);
  CHECK(chat(R"("tools":[])").messages.size() == 1);
}

TEST_CASE("Chat request: a wrong message is named by its place") {
  struct Case {
    const char* messages;
    const char* param;
  };
  const Case cases[] = {
      {"[]", "messages"},
      {"{}", "messages"},
      {"[1]", "messages"},
      {R"([{"content":"x"}])", "messages[0].role"},
      {R"([{"role":"user","content":"x"},{"role":1,"content":"x"}])", "messages[1].role"},
      {R"([{"role":"user","content":1}])", "messages[0].content"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])", "messages[0].content"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content"},
      {R"([{"role":"user","content":[7]}])", "messages[0].content"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.messages);
    const ApiError error = chat_refusal(std::string("{\"messages\":") + test.messages + "}");
    CHECK(error.status == 400);
    CHECK(error.param == test.param);
  }
  CHECK(chat_refusal("{}").param == "messages");
  CHECK(chat_refusal(chat_with(R"("top_logprobs":2)")).param == "top_logprobs");
  CHECK(chat_refusal(chat_with(R"("logprobs":1)")).param == "logprobs");
  CHECK(chat_refusal(chat_with(R"("logprobs":true,"top_logprobs":21)")).param == "top_logprobs");
}

TEST_CASE("Tokenize and detokenize requests: text or messages in, ids in") {
  const auto text = parse_tokenize_request(R"({"prompt":"hi","return_token_strs":true})", limits());
  REQUIRE(text.has_value());
  CHECK(std::get<std::string>(text->input) == "hi");
  CHECK(text->add_special_tokens);
  CHECK(text->return_token_strs);
  const auto messages = parse_tokenize_request(chat_with(""), limits());
  REQUIRE(messages.has_value());
  CHECK_FALSE(messages->add_special_tokens);
  CHECK(parse_tokenize_request("{}", limits()).error().param == "prompt");
  CHECK(*parse_detokenize_request(R"({"tokens":[1,2]})", limits()) == std::vector<TokenId>{1, 2});
  CHECK(parse_detokenize_request(R"({"tokens":[300]})", limits()).error().param == "tokens");
  CHECK(parse_detokenize_request("{}", limits()).error().param == "tokens");
}

}  // namespace baton
