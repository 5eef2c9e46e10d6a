#include "sim/report/request_tally.h"

#include <string>

#include <doctest/doctest.h>

using namespace baton;
using namespace baton::sim;

namespace {

RequestRecord record(double ttft_ms, double tpot_ms) {
  RequestRecord result;
  result.reason = FinishReason::length;
  result.prompt_tokens = 100;
  result.cached_tokens = 30;
  result.output_tokens = 11;
  result.ttft_ms = ttft_ms;
  result.tpot_ms = tpot_ms;
  result.e2e_ms = ttft_ms + 10 * tpot_ms;
  return result;
}

RequestRecord failed(Errc code) {
  RequestRecord result;
  result.error = code;
  result.prompt_tokens = 100;
  return result;
}

}  // namespace

TEST_CASE("RequestTally: a request is good when it ended well within every limit that is set") {
  Slo slo;
  slo.ttft_ms = 200;
  slo.tpot_ms = 50;
  RequestTally tally(slo);
  tally.add(record(200, 50));
  tally.add(record(201, 10));
  tally.add(record(10, 51));
  tally.add(failed(Errc::timeout));
  RequestRecord single = record(10, kNoTime);
  single.output_tokens = 1;
  tally.add(single);
  CHECK(tally.requests() == 5);
  CHECK(tally.good() == 2);
  CHECK(tally.good_output_tokens() == 12);
  CHECK(tally.good_share().mean() == doctest::Approx(0.4));
}

TEST_CASE("RequestTally: failures count by their code and have no times") {
  RequestTally tally;
  tally.add(record(100, 10));
  tally.add(failed(Errc::timeout));
  tally.add(failed(Errc::timeout));
  tally.add(failed(Errc::overloaded));
  CHECK(tally.failed() == 3);
  CHECK(tally.failures().at(to_string(Errc::timeout)) == 2);
  CHECK(tally.failures().at(to_string(Errc::overloaded)) == 1);
  CHECK(tally.ttft().size() == 1);
  CHECK(tally.stage(Stage::prefill).size() == 1);
  CHECK(tally.prompt_tokens() == 400);
  CHECK(tally.cached_tokens() == 30);
}

TEST_CASE("RequestTally: the requests that are kept are thinned out evenly and never more than the bound") {
  RequestTally tally({}, 10);
  for (int i = 0; i < 1000; ++i) {
    RequestRecord next = record(i, 1);
    next.id = std::to_string(i);
    tally.add(next);
    CHECK(tally.kept().size() <= 10);
  }
  CHECK(tally.kept_one_in() == 128);
  REQUIRE(tally.kept().size() == 8);
  for (std::size_t i = 0; i < tally.kept().size(); ++i) {
    CHECK(tally.kept()[i].id == std::to_string(i * 128));
  }
  CHECK(tally.ttft().size() == 1000);
}
