#include "roles/http/api_response.h"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "roles/http/api_error.h"
#include "roles/http/json_writer.h"
#include "roles/http/logprobs.h"
#include "tests/model/text/byte_vocabulary.h"

namespace baton {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer instance(byte_vocabulary());
  return instance;
}

AnswerHead head(AnswerKind kind) {
  AnswerHead head;
  head.kind = kind;
  head.id = "id-1";
  head.created = 1700000000;
  head.model = "toy";
  return head;
}

SampledToken token(TokenId id, float logprob, std::vector<TokenLogprob> top = {}) {
  return {id, logprob, std::move(top)};
}

FinishEvent finish(FinishReason reason) {
  FinishEvent event;
  event.reason = reason;
  return event;
}

Usage usage() {
  Usage usage;
  usage.prompt_tokens = 5;
  usage.completion_tokens = 2;
  usage.cached_tokens = 4;
  return usage;
}

constexpr const char* kUsage =
    R"("usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}})";

}  // namespace

TEST_CASE("Completion answer: the whole object, to the byte") {
  const FinishEvent stop = finish(FinishReason::stop);
  ChoicePart part;
  part.text = "a\"b";
  part.finish = &stop;
  const AnswerWriter writer(head(AnswerKind::completion), tokenizer());
  CHECK(writer.whole({&part, 1}, usage()) ==
        std::string(R"({"id":"id-1","object":"text_completion","created":1700000000,"model":"toy","choices":[)"
                    R"({"index":0,"text":"a\"b","logprobs":null,"finish_reason":"stop","stop_reason":null}],)") +
            kUsage);
}

TEST_CASE("Chat answer: the whole object, to the byte") {
  const FinishEvent length = finish(FinishReason::length);
  ChoicePart part;
  part.index = 1;
  part.text = "hi";
  part.finish = &length;
  const AnswerWriter writer(head(AnswerKind::chat), tokenizer());
  CHECK(writer.whole({&part, 1}, usage()) ==
        std::string(R"({"id":"id-1","object":"chat.completion","created":1700000000,"model":"toy","choices":[)"
                    R"({"index":1,"message":{"role":"assistant","content":"hi"},"logprobs":null,)"
                    R"("finish_reason":"length","stop_reason":null}],)") +
            kUsage);
}

TEST_CASE("Chunks: the role comes with the first, the reason with the last, usage where asked for") {
  const AnswerWriter chat(head(AnswerKind::chat), tokenizer());
  const std::string start =
      R"({"id":"id-1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[)";
  ChoicePart part;
  part.text = "x";
  part.first = true;
  CHECK(chat.chunk(part) == start + R"({"index":0,"delta":{"role":"assistant","content":"x"},"logprobs":null,)" +
                                R"("finish_reason":null}]})");
  part.first = false;
  const Usage counts = usage();
  CHECK(chat.chunk(part, &counts) ==
        start + R"({"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null}],)" + kUsage);
  FinishEvent stop = finish(FinishReason::stop);
  stop.stop_string = "END";
  part.finish = &stop;
  part.text = "";
  CHECK(chat.chunk(part) == start + R"({"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop",)" +
                                R"("stop_reason":"END"}]})");
  CHECK(chat.usage_chunk(counts) ==
        R"({"id":"id-1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[],)" +
            std::string(kUsage));
}

TEST_CASE("Stop reason: a stop token's id, but null for the model's own end") {
  const AnswerWriter writer(head(AnswerKind::completion), tokenizer());
  FinishEvent stop = finish(FinishReason::stop);
  ChoicePart part;
  part.finish = &stop;
  stop.stop_token = 65;
  CHECK(writer.chunk(part).find(R"("stop_reason":65)") != std::string::npos);
  stop.stop_token = 261;  // <|end|>
  CHECK(writer.chunk(part).find(R"("stop_reason":null)") != std::string::npos);
}

TEST_CASE("Completion log-probabilities: offsets count characters, alternatives include the token") {
  std::string text;
  JsonWriter json(text);
  const std::vector<SampledToken> tokens = {
      token('a', -0.5F, {TokenLogprob('b', -0.25F), TokenLogprob('a', -0.5F)}),
      token(256, -1.5F, {TokenLogprob('c', -std::numeric_limits<float>::infinity())}), token(0xC3, -2.0F)};
  append_completion_logprobs(json, tokenizer(), tokens, 10);
  CHECK(text == R"({"text_offset":[10,11,13],"token_logprobs":[-0.5,-1.5,-2],"tokens":["a","ab","�"],)"
                R"("top_logprobs":[{"b":-0.25,"a":-0.5},{"c":-9999,"ab":-1.5},{"�":-2}]})");
}

TEST_CASE("Chat log-probabilities: every token with its bytes") {
  std::string text;
  JsonWriter json(text);
  const std::vector<SampledToken> tokens = {token(0xC3, -0.5F, {TokenLogprob(0xC3, -0.5F)}), token(9999, -1.0F)};
  append_chat_logprobs(json, tokenizer(), tokens);
  CHECK(text == R"({"content":[{"token":"�","logprob":-0.5,"bytes":[195],)"
                R"("top_logprobs":[{"token":"�","logprob":-0.5,"bytes":[195]}]},)"
                R"({"token":"","logprob":-1,"bytes":[],"top_logprobs":[]}]})");
}

TEST_CASE("Token ids: where each kind of answer has them") {
  const std::vector<TokenId> prompt = {7, 8};
  const FinishEvent length = finish(FinishReason::length);
  ChoicePart part;
  part.tokens = {token('a', 0.0F)};
  part.prompt = &prompt;
  part.finish = &length;
  AnswerHead asked = head(AnswerKind::completion);
  asked.return_token_ids = true;
  const std::string completion = AnswerWriter(asked, tokenizer()).whole({&part, 1}, usage());
  CHECK(completion.find(R"("stop_reason":null,"prompt_token_ids":[7,8],"token_ids":[97]}])") != std::string::npos);
  asked.kind = AnswerKind::chat;
  const std::string chat = AnswerWriter(asked, tokenizer()).whole({&part, 1}, usage());
  CHECK(chat.find(R"("model":"toy","prompt_token_ids":[7,8],"choices")") != std::string::npos);
  CHECK(chat.find(R"("stop_reason":null,"token_ids":[97]}])") != std::string::npos);
}

TEST_CASE("Timeline: stages by name in seconds, ranks by name") {
  Timeline timeline;
  timeline.total = std::chrono::milliseconds(1500);
  timeline[Stage::prefill] = std::chrono::milliseconds(250);
  timeline.prefill = {Role::prefill, 1};
  timeline.decode = {Role::decode, 2};
  timeline.pages = 3;
  std::string text;
  JsonWriter json(text);
  append_timeline(json, timeline);
  CHECK(text.starts_with(R"({"total":1.5,"first_token":0,"stages":{"route":0,)"));
  CHECK(text.find(R"("prefill":0.25,)") != std::string::npos);
  CHECK(text.ends_with(R"("prefill":"prefill/1","decode":"decode/2","chunks":0,"pages":3,"moved_bytes":0,)"
                       R"("retractions":0})"));
}

TEST_CASE("Error bodies: vLLM's shape, whatever the message holds") {
  CHECK(error_body(ApiError(400, "bad \"n\"\n", "n")) ==
        R"({"error":{"message":"bad \"n\"\n","type":"BadRequestError","param":"n","code":400}})");
  CHECK(error_body(to_api_error(Failure(Errc::overloaded, "router", "full"))) ==
        R"({"error":{"message":"full","type":"RateLimitError","param":null,"code":429}})");
  CHECK(to_api_error(Failure(Errc::peer_lost, "decode/1", "")).message == "peer lost");
  CHECK(to_api_error(Failure(Errc::internal, "x", "\xff")).message == "\xef\xbf\xbd");
  CHECK(std::string(error_type(404)) == "NotFoundError");
  CHECK(std::string(error_type(418)) == "BadRequestError");
  CHECK(std::string(error_type(599)) == "InternalServerError");
}

}  // namespace baton
