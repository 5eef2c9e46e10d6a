// The pipeline in virtual time: what a client sees of router, prefill, hand-over and decode together.
#include <doctest/doctest.h>

#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

Duration sum(const Timeline& line) {
  Duration total{0};
  for (const Duration stage : line.stages) {
    total += stage;
  }
  return total;
}

}  // namespace

TEST_CASE("Pipeline: one request gives the tokens of the reference, and nothing is left afterwards") {
  for (const bool copying : {false, true}) {
    CAPTURE(copying);
    NodeConfig config = small_node();
    config.copying = copying;
    ToyWorld world(config);
    const GenerationRequest request = world.request(100, 20);
    const auto outcomes = run_all(world, {request});
    REQUIRE(outcomes[0].ok());
    CHECK(outcomes[0].tokens == world.reference(request));
    CHECK(outcomes[0].finish.reason == FinishReason::length);
    CHECK(outcomes[0].finish.usage.prompt_tokens == 100);
    CHECK(outcomes[0].finish.usage.completion_tokens == 20);
    CHECK(outcomes[0].finish.timeline.chunks == 2);  // 64 and 36 tokens
    CHECK(outcomes[0].finish.timeline.pages == 7);
    const std::size_t page_bytes = ToyEngine(world.context, {}).kv_layout().page_bytes();
    CHECK(outcomes[0].finish.timeline.moved_bytes == (copying ? 7 * page_bytes : 0));
    CHECK(world.drained_after_run);
  }
}

TEST_CASE("Pipeline: the stages of a request sum to its total") {
  for (const bool aggregated : {false, true}) {
    NodeConfig config = small_node();
    config.aggregated = aggregated;
    ToyWorld world(config);
    const auto outcomes = run_all(world, {world.request(100, 20), world.request(300, 5, 2)});
    for (const Outcome& outcome : outcomes) {
      REQUIRE(outcome.ok());
      CHECK(sum(outcome.finish.timeline) == outcome.finish.timeline.total);
      CHECK(outcome.finish.timeline[Stage::prefill] > Duration::zero());
      CHECK(outcome.finish.timeline[Stage::decode] > Duration::zero());
      CHECK(outcome.finish.timeline.first_token <= outcome.finish.timeline.total);
    }
  }
}

TEST_CASE("Pipeline: any mix of shapes, ranks, chunks and pages gives the reference's tokens") {
  for (const auto& [prefill, decode] : {std::pair{1U, 1U}, std::pair{2U, 2U}, std::pair{1U, 3U}}) {
    for (const std::uint32_t page : {1U, 16U, 64U}) {
      for (const std::uint32_t chunk : {16U, 64U, 512U}) {
        for (const int mode : {0, 1, 2}) {
          CAPTURE(prefill);
          CAPTURE(decode);
          CAPTURE(page);
          CAPTURE(chunk);
          CAPTURE(mode);
          NodeConfig config = small_node(prefill, decode);
          config.copying = mode == 1;
          config.aggregated = mode == 2;
          config.decode_pages = config.prefill_pages = 6000 / page;
          config.prefill.step.step_tokens = chunk;
          config.decode.step.step_tokens = chunk;
          ToyEngineConfig engine;
          engine.page_tokens = page;
          ToyWorld world(config, engine);
          std::vector<GenerationRequest> requests;
          for (std::uint32_t i = 0; i < 24; ++i) {
            requests.push_back(world.request(1 + (i * 37) % 300, 1 + (i * 11) % 40, i));
          }
          const auto outcomes = run_all(world, requests);
          for (std::size_t i = 0; i < requests.size(); ++i) {
            CAPTURE(i);
            CHECK(outcomes[i].ok());
            CHECK(outcomes[i].tokens == world.reference(requests[i]));
          }
          CHECK(world.drained_after_run);
        }
      }
    }
  }
}

TEST_CASE("Pipeline: when decode's pages run out requests are retracted and still give the reference's tokens") {
  for (const int mode : {0, 1, 2, 3, 4, 5, 6, 7}) {
    CAPTURE(mode);
    NodeConfig config = small_node();
    config.aggregated = mode % 2 == 1;
    config.prefix_cache = config.aggregated;
    config.decode_pages = 24;
    config.decode.admission.lookahead_tokens = 0;  // admits too many on purpose
    config.decode.retraction = mode & 2 ? policy::Retraction::recompute : policy::Retraction::copy;
    config.decode.victims = mode & 2 ? policy::Victims::latest : policy::Victims::least_lost;
    config.decode.plan_ahead = (mode & 4) != 0;
    ToyWorld world(config);
    std::vector<GenerationRequest> requests;
    for (std::uint32_t i = 0; i < 12; ++i) {
      requests.push_back(world.request(20 + i, 100 + i * 8, i));
    }
    const auto outcomes = run_all(world, requests);
    std::uint32_t retractions = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CAPTURE(i);
      CHECK(outcomes[i].ok());
      CHECK(outcomes[i].tokens == world.reference(requests[i]));
      retractions += outcomes[i].finish.timeline.retractions;
    }
    CHECK(retractions > 0);
    CHECK(world.drained_after_run);
  }
}

TEST_CASE("Pipeline: a first token that ends the request ends it without a decode step") {
  ToyWorld world(small_node());
  GenerationRequest request = world.request(50, 1);
  GenerationRequest stopped = world.request(60, 30, 3);
  stopped.stop.stop_token_ids = {world.reference(stopped).front()};
  const auto outcomes = run_all(world, {request, stopped});
  REQUIRE(outcomes[0].ok());
  CHECK(outcomes[0].tokens.size() == 1);
  CHECK(outcomes[0].finish.reason == FinishReason::length);
  REQUIRE(outcomes[1].ok());
  CHECK(outcomes[1].tokens.empty());
  CHECK(outcomes[1].finish.reason == FinishReason::stop);
  CHECK(outcomes[1].finish.stop_token == stopped.stop.stop_token_ids.front());
  CHECK(outcomes[1].finish.usage.completion_tokens == 1);
  CHECK(world.drained_after_run);
}

TEST_CASE("Pipeline: a prompt that can never fit is refused at once with the numbers, and disturbs nobody") {
  ToyWorld world(small_node());
  GenerationRequest huge = world.request(4000, 200);
  const GenerationRequest fine = world.request(40, 10);
  const auto outcomes = run_all(world, {huge, fine});
  CHECK(outcomes[0].finishes == 1);
  CHECK(outcomes[0].code() == Errc::too_large);
  CHECK(outcomes[0].finish.failure->message.find("4200") != std::string::npos);
  CHECK(outcomes[0].ended == TimePoint{});
  CHECK(outcomes[1].ok());
}

TEST_CASE("Pipeline: a prompt too long for the prefill rank's own pool fails at once, and everything returns") {
  NodeConfig config = small_node();
  config.copying = true;
  config.prefill_pages = 4;  // 64 tokens; decode could take 4,096
  ToyWorld world(config);
  const GenerationRequest fine = world.request(60, 10);
  const auto outcomes = run_all(world, {world.request(100, 10), fine});
  CHECK(outcomes[0].finishes == 1);
  CHECK(outcomes[0].code() == Errc::too_large);
  CHECK(outcomes[0].ended < TimePoint{} + Duration(std::chrono::seconds(1)));
  CHECK(outcomes[1].tokens == world.reference(fine));
  CHECK(world.drained_after_run);
}

TEST_CASE("Pipeline: a full waiting queue pushes back with overloaded, and both legs forget the room") {
  NodeConfig config = small_node();
  config.decode_pages = 16;
  config.decode.waiting_max = 2;
  ToyWorld world(config);
  std::vector<GenerationRequest> requests(8, world.request(200, 50));
  const auto outcomes = run_all(world, requests);
  std::size_t overloaded = 0;
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.finishes == 1);
    overloaded += !outcome.ok() && outcome.code() == Errc::overloaded ? 1 : 0;
    CHECK((outcome.ok() || outcome.code() == Errc::overloaded));
  }
  CHECK(overloaded > 0);
  CHECK(overloaded < requests.size());
  CHECK(world.drained_after_run);
}

TEST_CASE("Pipeline: the shared deadline ends a request on both legs, whatever it waits for") {
  NodeConfig config = small_node();
  config.decode_pages = 30;
  ToyWorld world(config);
  std::vector<GenerationRequest> requests;
  for (std::uint32_t i = 0; i < 6; ++i) {
    requests.push_back(world.request(200, 200, i));
    requests.back().time_limit = std::chrono::milliseconds(20 + 15 * i);
  }
  const auto outcomes = run_all(world, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    CHECK(outcomes[i].finishes == 1);
    const bool in_time = outcomes[i].ended <= TimePoint{} + requests[i].time_limit;
    CHECK(in_time);
    CHECK((outcomes[i].ok() || outcomes[i].code() == Errc::timeout));
  }
  CHECK(world.drained_after_run);
}

TEST_CASE("Pipeline: a min_tokens of ten keeps stop tokens from being drawn before") {
  ToyWorld world(small_node());
  GenerationRequest request = world.request(30, 40, 9);
  const auto reference = world.reference(request);
  request.stop.stop_token_ids = {reference[0], reference[3]};
  request.stop.min_tokens = 10;
  const auto outcomes = run_all(world, {request});
  REQUIRE(outcomes[0].ok());
  CHECK(outcomes[0].finish.usage.completion_tokens >= 10);
}
