#include "roles/output.h"

#include <doctest/doctest.h>

#include "roles/tombstones.h"

using namespace baton;

namespace {

GenerationRequest request_with(std::uint32_t max_tokens) {
  GenerationRequest request;
  request.prompt = {1};
  request.stop.max_tokens = max_tokens;
  return request;
}

SampledToken token(TokenId id) {
  return SampledToken(id, 0.0F, {});
}

}  // namespace

TEST_CASE("Output: the model's end of text ends it, counts as a token and is not shown") {
  const GenerationRequest request = request_with(10);
  const TextRules rules{nullptr, {2, 7}};
  Output output(request, rules);
  CHECK_FALSE(output.accept(token(5)).finished);
  const Output::Step step = output.accept(token(7));
  CHECK(step.finished);
  CHECK_FALSE(step.token.has_value());
  const FinishEvent finish = output.finish();
  CHECK(finish.reason == FinishReason::stop);
  CHECK(finish.stop_token == 7);
  CHECK(finish.usage.completion_tokens == 2);
}

TEST_CASE("Output: ignore_eos lets the model's end of text pass, a client's stop token still ends it") {
  GenerationRequest request = request_with(10);
  request.stop.ignore_eos = true;
  request.stop.stop_token_ids = {9};
  const TextRules rules{nullptr, {2}};
  Output output(request, rules);
  CHECK_FALSE(output.accept(token(2)).finished);
  CHECK(output.accept(token(9)).finished);
}

TEST_CASE("Output: a stop token that is also the last allowed one is a stop, not a length") {
  GenerationRequest request = request_with(1);
  request.stop.stop_token_ids = {9};
  const TextRules rules;
  Output output(request, rules);
  CHECK(output.accept(token(9)).finished);
  CHECK(output.finish().reason == FinishReason::stop);
}

TEST_CASE("Output: ends of text are banned below min_tokens, with ignore_eos only the client's") {
  StopConditions stop;
  stop.min_tokens = 2;
  stop.stop_token_ids = {9};
  const std::vector<TokenId> eos{2};
  CHECK(banned_tokens(stop, eos, 1) == std::vector<TokenId>{9, 2});
  CHECK(banned_tokens(stop, eos, 2).empty());
  stop.ignore_eos = true;
  CHECK(banned_tokens(stop, eos, 0) == std::vector<TokenId>{9});
}

TEST_CASE("Tombstones: the first cause stays, number and age are bounded") {
  Tombstones::Limits limits;
  limits.rooms_max = 2;
  limits.lifetime = std::chrono::seconds(10);
  Tombstones stones(limits);
  const TimePoint start{};
  stones.add(RoomId{1}, Failure(Errc::timeout, "a", "first"), start);
  stones.add(RoomId{1}, Failure(Errc::aborted, "b", "second"), start + std::chrono::seconds(1));
  CHECK(stones.cause(RoomId{1}).message == "first");
  stones.add(RoomId{2}, std::nullopt, start + std::chrono::seconds(2));
  CHECK(stones.cause(RoomId{2}).code == Errc::aborted);
  stones.add(RoomId{3}, std::nullopt, start + std::chrono::seconds(3));
  CHECK_FALSE(stones.contains(RoomId{1}));
  CHECK(stones.size() == 2);
  CHECK(stones.expire(start + std::chrono::seconds(12)) == start + std::chrono::seconds(13));
  CHECK_FALSE(stones.contains(RoomId{2}));
  CHECK(stones.expire(start + std::chrono::seconds(13)) == kNever);
}
