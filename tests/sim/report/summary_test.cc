// The figures of a run, and what is made of them for people and for programs.
#include "sim/report/summary.h"

#include <string>

#include <boost/json/value.hpp>
#include <doctest/doctest.h>

#include "model/files/json_document.h"
#include "tests/sim/report/sample_run.h"

using namespace baton;
using namespace baton::sim;
using doctest::Approx;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

double number(const boost::json::value& document, const std::string& pointer) {
  return document.at_pointer(pointer).to_number<double>();
}

}  // namespace

TEST_CASE("Summary: rates are over simulated time, speed is over real time") {
  const RunResult result = test::sample_run();
  const Summary summary = summarize(result);
  CHECK(summary.simulated_s == Approx(100));
  CHECK(summary.speed == Approx(2000));
  CHECK(summary.requests_per_wall_s == Approx(20000));
  CHECK(summary.requests_per_s == Approx(9.9));
  CHECK(summary.good_share == Approx(static_cast<double>(result.requests.good()) / 1000));
  CHECK(summary.good_per_s == Approx(static_cast<double>(result.requests.good()) / 100));
  CHECK(summary.slo_met == (result.requests.good() >= 900));
  CHECK(summary.cache_hits == Approx(0.25).epsilon(0.01));
}

TEST_CASE("Summary: times are those of requests that ended well, gaps those of all tokens") {
  const RunResult result = test::sample_run();
  const Summary summary = summarize(result);
  CHECK(summary.times[0].name == "TTFT");
  CHECK(summary.times[0].count == 990);
  CHECK(summary.times[1].p50 == Approx(20));
  CHECK(summary.times[2].name == "ITL");
  CHECK(summary.times[2].p50 == Approx(20).epsilon(0.004));
  CHECK(summary.times[2].max == Approx(35));
  CHECK(summary.times[0].ci95 > 0.0);
  double stages = 0.0;
  for (const Measure& stage : summary.stages) {
    stages += stage.name == "decode" ? 0.0 : stage.mean;
  }
  CHECK(stages <= summary.times[0].mean * 1.001);
}

TEST_CASE("Summary: pools, links, cost and layers by hand") {
  const Summary summary = summarize(test::sample_run());
  REQUIRE(summary.pools.size() == 2);
  CHECK(summary.pools[0].busy == Approx(0.5));
  CHECK(summary.pools[0].busy_min == Approx(0.4));
  CHECK(summary.pools[0].busy_max == Approx(0.6));
  CHECK(summary.pools[1].pages_used_max == Approx(0.75));
  CHECK(summary.links_busy == Approx(0.05));
  CHECK(summary.busiest_link == "prefill/0 nic out");
  CHECK(summary.gpu_hours == Approx(32 * 100.0 / 3600));
  REQUIRE(summary.cost);
  CHECK(summary.cost->usd == Approx(2 * 32 * 100.0 / 3600));
  CHECK(summary.by_layer[0] == Approx(0.25));
  CHECK(summary.extrapolated == Approx(0.1));
  CHECK(summary.communication == Approx(0.05));
}

TEST_CASE("Summary: one rank without a price leaves the cost out, hours stay") {
  RunResult result = test::sample_run();
  result.ranks[1].usd_per_gpu_hour.reset();
  const Summary summary = summarize(result);
  CHECK_FALSE(summary.cost);
  CHECK(summary.gpu_hours > 0.0);
  CHECK(holds(summary_text(result, summary), "no prices given"));
}

TEST_CASE("Summary: a run of nothing has no figures and no faults") {
  const RunResult nothing;
  const Summary summary = summarize(nothing);
  CHECK(summary.requests_per_s == 0.0);
  CHECK(summary.speed == 0.0);
  CHECK_FALSE(summary.cost);
  CHECK_FALSE(holds(summary_text(nothing, summary), "nan"));
  CHECK_FALSE(holds(summary_json(nothing, summary), "nan"));
  parse_json(summary_json(nothing, summary), "summary");
}

TEST_CASE("Summary: the text says what was run, how it went, and warns") {
  const RunResult result = test::sample_run();
  const std::string text = summary_text(result, summarize(result));
  CHECK(holds(text, "made-up on 2p2d (configuration 0123456789abcdef, seed 5)\n"));
  CHECK(holds(text, "1,000 requests in 100 s; took 50.0 ms: 2,000 times real time, 20,000 requests/s\n"));
  CHECK(holds(text, "within TTFT 300 ms, TPOT 50.0 ms; objective 90 %"));
  CHECK(holds(text, "failed    10 requests: 5 overloaded, 5 timeout\n"));
  CHECK(holds(text, "prefill   50.0 % busy (40.0 % to 60.0 %), 2 ranks, 16 GPUs, fullest pool 75.0 %\n"));
  CHECK(holds(text, "25.0 % measured, 0.0 % fitted, 75.0 % roofline; 10.0 % outside"));
  CHECK(holds(text, "warning   KV capacity was derived"));
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    CAPTURE(text.substr(begin, end - begin));
    CHECK(end - begin <= 110);
    begin = end + 1;
  }
}

TEST_CASE("Summary: the JSON holds every figure unrounded, and the configuration") {
  const RunResult result = test::sample_run();
  const Summary summary = summarize(result);
  const boost::json::value document = parse_json(summary_json(result, summary), "summary");
  CHECK(number(document, "/requests") == 1000);
  CHECK(number(document, "/failures/timeout") == 5);
  CHECK(number(document, "/ms/TTFT/p99") == Approx(summary.times[0].p99).epsilon(1e-12));
  CHECK(number(document, "/slo/good") == static_cast<double>(result.requests.good()));
  CHECK(document.at_pointer("/slo/e2e_ms").is_null());
  CHECK(number(document, "/pools/1/busy") == Approx(0.8));
  CHECK(number(document, "/ranks/3/pages_used_max") == 75);
  CHECK(number(document, "/network/links/0/bytes") == 5e9);
  CHECK(number(document, "/cost/usd") == Approx(summary.cost->usd));
  CHECK(document.at_pointer("/configuration").as_string() == result.configuration);
}
