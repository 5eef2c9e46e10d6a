// Drafts that hold are tokens of the same step: how many, what becomes of the rest, and what it does to pages.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {
namespace {

struct Records final : ReplaySink {
  std::vector<std::uint32_t> wanted;
  std::vector<RequestRecord> all;

  void tokens(TimePoint, std::span<const TimePoint>) override {}
  void ended(const TraceRequest& request, const RequestRecord& record) override {
    wanted.push_back(request.output_tokens);
    all.push_back(record);
  }
};

// Every decode step takes 1 ms.
ClusterPlan drafting_plan(std::uint32_t pages, Speculation speculation) {
  ClusterPlan plan = small_plan(1, 1, pages);
  auto cost = std::make_shared<LinearCost>();
  cost->prefill_token = cost->decode_sequence = cost->context_thousand = 0;
  plan.decode.cost = cost;
  plan.decode.speculation = std::move(speculation);
  return plan;
}

void replay(const ClusterPlan& plan, std::vector<TraceRequest> requests, ReplaySink& sink) {
  ListSource source(std::move(requests));
  ClusterWorld world(plan, source, sink, {});
  world.run();
}

std::vector<TraceRequest> equal_requests(std::size_t count, std::uint32_t output) {
  std::vector<TraceRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    requests[i].id = std::to_string(i);
    requests[i].input_tokens = 100;
    requests[i].output_tokens = output;
  }
  return requests;
}

TEST_CASE("Speculation: a draft holds only if those before it do") {
  const Speculation speculation{2, {0.8, 0.5}, 1};
  CHECK(drafts_held(speculation, 0) == 2);
  CHECK(drafts_held(speculation, 0.399) == 2);
  CHECK(drafts_held(speculation, 0.401) == 1);
  CHECK(drafts_held(speculation, 0.799) == 1);
  CHECK(drafts_held(speculation, 0.801) == 0);
  CHECK(drafts_held({2, {0, 1}, 1}, 0) == 0);
  CHECK(drafts_held({2, {1, 1}, 1}, 0.999) == 2);
}

TEST_CASE("Speculation: a step brings as many tokens as the acceptance says, in the mean") {
  const Speculation speculation{3, {0.9, 0.6, 0.3}, 1};
  Records records;
  replay(drafting_plan(8192, speculation), equal_requests(40, 2001), records);
  double ms = 0;
  for (const RequestRecord& record : records.all) {
    CHECK(record.output_tokens == 2001);
    ms += record.e2e_ms - record.ttft_ms;
  }
  const double per_step = 40 * 2000 / ms;
  MESSAGE(per_step, " tokens a step, expected ", speculation.tokens_per_step());
  CHECK(per_step == doctest::Approx(speculation.tokens_per_step()).epsilon(0.01));
}

TEST_CASE(
    "Speculation: drafts behind the last token of a request are dropped, and drafts that never hold win nothing") {
  const auto steps_ms = [](Speculation speculation, std::uint32_t output) {
    Records records;
    replay(drafting_plan(4096, std::move(speculation)), equal_requests(1, output), records);
    CHECK(records.all.at(0).output_tokens == output);
    return records.all.at(0).e2e_ms - records.all.at(0).ttft_ms;
  };
  CHECK(steps_ms({2, {1, 1}, 1}, 31) == doctest::Approx(10));
  CHECK(steps_ms({2, {1, 1}, 1}, 32) == doctest::Approx(11));
  CHECK(steps_ms({2, {1, 1}, 1}, 1) == doctest::Approx(0));
  CHECK(steps_ms({2, {0, 1}, 1}, 31) == doctest::Approx(30));
}

TEST_CASE("Speculation: where pages are short everybody gets all tokens nevertheless, twice the same way") {
  std::uint32_t retractions = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    ClusterPlan plan = drafting_plan(60, {4, {0.9, 0.8, 0.7, 0.6}, 1});
    plan.decode_config.admission.lookahead_tokens = 0;
    plan.seed = seed;
    const auto requests = random_requests(seed, 200, std::chrono::milliseconds(4), 100, 300);
    Records records;
    replay(plan, requests, records);
    REQUIRE(records.all.size() == requests.size());
    for (std::size_t i = 0; i < records.all.size(); ++i) {
      CHECK(records.all[i].ok());
      CHECK(records.all[i].output_tokens == records.wanted[i]);
      retractions += records.all[i].retractions;
    }
    LogSink first;
    LogSink second;
    replay(plan, requests, first);
    replay(plan, requests, second);
    CHECK(first.lines == second.lines);
  }
  CHECK(retractions > 0);
}

}  // namespace
}  // namespace baton::sim
