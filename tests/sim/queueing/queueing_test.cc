// The simulated runtime against queueing theory (T1).
//
// A prefill rank that takes one prompt a step is a single server: what a request waits for follows Lindley's recursion
// W' = max(0, W + S - A) to the nanosecond, whatever the distributions. The closed forms then speak of that recursion,
// which costs nothing, so that they are checked with ten million arrivals each: M/D/1 and M/G/1 (Pollaczek-Khinchine),
// M/M/1 and its 99th percentile. The router sends a request to a rank when it arrives, so c ranks are not M/M/c: with
// random routing they are c queues of their own, which is checked in its place.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "sim/workload/draws.h"
#include "tests/sim/cluster/small_cluster.h"

namespace baton::sim {
namespace {

constexpr Duration kTokenTime = std::chrono::microseconds(10);

// One prompt a step, and nothing else costs time: not the network, nor the first token, which comes with the hand-over.
ClusterPlan server_plan(std::uint32_t prefill, std::uint32_t decode) {
  ClusterPlan plan = small_plan(prefill, decode, 1U << 20);
  auto cost = std::make_shared<LinearCost>();
  cost->constant = 0;
  cost->prefill_token = kTokenTime.count();
  plan.prefill.cost = cost;
  auto step = std::make_shared<LinearCost>();
  step->constant = kTokenTime.count();
  step->prefill_token = step->decode_sequence = step->context_thousand = 0;
  plan.decode.cost = step;
  plan.network.infinite = true;
  plan.prefill_config.step = {1U << 24, 1};
  plan.decode_config.admission.active_max = 1U << 20;
  plan.decode_config.admission.lookahead_tokens = 0;
  return plan;
}

struct Loads {
  double arrivals_per_s = 0;
  double input_tokens = 0;   // mean, exponentially distributed
  double output_tokens = 0;  // beyond the first: mean, likewise; 0: none
};

std::vector<TraceRequest> draw_requests(std::uint64_t seed, std::size_t count, const Loads& loads) {
  Random random(seed);
  std::vector<TraceRequest> requests(count);
  double at = 0;
  for (TraceRequest& request : requests) {
    at += draw_exponential(random, 1e9 / loads.arrivals_per_s);
    request.arrival = Duration(static_cast<std::int64_t>(at));
    request.input_tokens = static_cast<std::uint32_t>(std::ceil(draw_exponential(random, loads.input_tokens)));
    request.output_tokens = 1;
    if (loads.output_tokens > 0) {
      request.output_tokens += static_cast<std::uint32_t>(std::ceil(draw_exponential(random, loads.output_tokens)));
    }
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].id = std::to_string(i);
  }
  return requests;
}

// By request: ms from its arrival to its first token and to its end.
struct Times final : ReplaySink {
  std::vector<double> ttft;
  std::vector<double> e2e;
  std::uint64_t failed = 0;

  void tokens(TimePoint, std::span<const TimePoint>) override {}
  void ended(const TraceRequest& request, const RequestRecord& record) override {
    const std::size_t index = std::stoul(request.id);
    failed += record.ok() ? 0 : 1;
    ttft.resize(std::max(ttft.size(), index + 1));
    e2e.resize(ttft.size());
    ttft[index] = record.ttft_ms;
    e2e[index] = record.e2e_ms;
  }
};

Times replay(const ClusterPlan& plan, const std::vector<TraceRequest>& requests) {
  ListSource source(requests);
  Times times;
  ClusterWorld world(plan, source, times, {});
  world.run();
  CHECK(times.failed == 0);
  CHECK(times.ttft.size() == requests.size());
  return times;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// Mean waiting time of a single server over many arrivals, in units of the mean service time.
template <class Service>
double lindley_mean_wait(std::uint64_t seed, double load, Service service, std::uint64_t arrivals = 10'000'000) {
  Random random(seed);
  double wait = 0;
  double sum = 0;
  for (std::uint64_t i = 0; i < arrivals; ++i) {
    sum += wait;
    const double served = service(random);
    wait = std::max(0.0, wait + served - draw_exponential(random, 1 / load));
  }
  return sum / static_cast<double>(arrivals);
}

double bar(double load) {
  return load > 0.85 ? 0.02 : 0.01;
}

}  // namespace

TEST_CASE("T1: what a request waits for is Lindley's recursion, to the nanosecond") {
  for (const double arrivals : {150.0, 350.0, 450.0}) {
    const std::vector<TraceRequest> requests = draw_requests(3, 30'000, {arrivals, 200, 0});
    const Times times = replay(server_plan(1, 1), requests);
    std::int64_t wait = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::int64_t served = requests[i].input_tokens * kTokenTime.count();
      const double expected = static_cast<double>(wait + served) / 1e6;
      wrong += std::abs(times.ttft[i] - expected) > 1e-9 * expected ? 1 : 0;
      if (i + 1 < requests.size()) {
        wait = std::max<std::int64_t>(0, wait + served - (requests[i + 1].arrival - requests[i].arrival).count());
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("T2: a pipeline of two stages waits as DistServe's formula says, and crosses over with two-way tensors") {
  // Section 2 of DistServe (OSDI'24) for uniform prompts of time D at rate R, times in units of D.
  const auto one = [](double load) { return 1 + load / (2 * (1 - load)); };
  const auto two_stages = [](double load) { return 1 + load / (4 * (2 - load)); };
  const auto tensors = [](double load, double k) { return 1 / k + load / (2 * k * (k - load)); };
  CHECK(two_stages(0.5) < one(0.5));
  const Duration service = 200 * kTokenTime;
  for (const double load : {0.2, 0.4, 0.6, 0.8}) {
    ClusterPlan plan = server_plan(1, 1);
    auto cost = std::make_shared<LinearCost>();
    cost->constant = 0;
    cost->prefill_token = kTokenTime.count();
    cost->pipeline = 2;
    plan.prefill.cost = cost;
    plan.prefill_config.steps_in_flight = 2;
    std::vector<TraceRequest> requests = draw_requests(4, 20'000, {load / seconds(service), 1, 0});
    std::int64_t wait = 0;
    std::size_t wrong = 0;
    for (TraceRequest& request : requests) {
      request.input_tokens = 200;
    }
    const Times times = replay(plan, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      wrong += std::abs(times.ttft[i] - static_cast<double>(wait + service.count()) / 1e6) > 1e-6 ? 1 : 0;
      const Duration gap = i + 1 < requests.size() ? requests[i + 1].arrival - requests[i].arrival : Duration{0};
      wait = std::max<std::int64_t>(0, wait + service.count() / 2 - gap.count());
    }
    CHECK(wrong == 0);
    // The recursion above is that of a server that takes D / 2; its mean is the formula's.
    const double mean_wait = 0.5 * lindley_mean_wait(13, load / 2, [](Random&) { return 1.0; }, 3'000'000);
    CHECK(1 + mean_wait == doctest::Approx(two_stages(load)).epsilon(0.01));
    for (const double k : {1.3, 1.5, 1.8}) {
      const double mean_tp = (1 + lindley_mean_wait(14, load / k, [](Random&) { return 1.0; }, 3'000'000)) / k;
      CHECK(mean_tp == doctest::Approx(tensors(load, k)).epsilon(0.01));
    }
  }
  for (int i = 0; i < 50; ++i) {  // tensor parallelism wins where load is low, the pipeline where it is high
    const double k = 1.3 + 0.5 * i / 49;
    CHECK(tensors(0.01, k) < two_stages(0.01));
    CHECK(tensors(0.999 * k, k) > two_stages(0.999 * k));
  }
}

TEST_CASE("T1: constant service waits as M/D/1, rho / (2 (1 - rho))") {
  for (const double load : {0.3, 0.5, 0.7, 0.8, 0.9}) {
    const double wait = lindley_mean_wait(11, load, [](Random&) { return 1.0; });
    const double expected = load / (2 * (1 - load));
    MESSAGE("load ", load, ": ", wait, " expected ", expected);
    CHECK(wait == doctest::Approx(expected).epsilon(bar(load)));
  }
}

TEST_CASE("T1: two-point service waits as Pollaczek and Khinchine say") {
  // Nine of ten prompts are short; mean 1, second moment 0.9 * 0.5^2 + 0.1 * 5.5^2.
  const double second_moment = 0.9 * 0.25 + 0.1 * 30.25;
  for (const double load : {0.3, 0.5, 0.7, 0.8}) {
    const auto two_point = [](Random& random) { return random.uniform(10) < 9 ? 0.5 : 5.5; };
    const double wait = lindley_mean_wait(12, load, two_point);
    const double expected = load * second_moment / (2 * (1 - load));
    MESSAGE("load ", load, ": ", wait, " expected ", expected);
    CHECK(wait == doctest::Approx(expected).epsilon(bar(load)));
  }
}

TEST_CASE("T1: ranks behind random routing are M/M/1 queues of their own, in the mean and at the 99th percentile") {
  ClusterPlan plan = server_plan(4, 2);
  plan.router_config.routing = policy::Routing::random;
  plan.router_config.seed = 5;
  const double service_s = 200.5 * 10e-6;  // a prompt is rounded up to whole tokens
  const double load = 0.5;
  const std::vector<TraceRequest> requests = draw_requests(6, 400'000, {4 * load / service_s, 200, 0});
  Times times = replay(plan, requests);
  const double sojourn_ms = 1e3 * service_s / (1 - load);
  MESSAGE("mean ", mean(times.ttft), " expected ", sojourn_ms);
  CHECK(mean(times.ttft) == doctest::Approx(sojourn_ms).epsilon(0.01));
  const auto p99 = times.ttft.begin() + static_cast<std::ptrdiff_t>(times.ttft.size() * 99 / 100);
  std::nth_element(times.ttft.begin(), p99, times.ttft.end());
  MESSAGE("p99 ", *p99, " expected ", -std::log(0.01) * sojourn_ms);
  CHECK(*p99 == doctest::Approx(-std::log(0.01) * sojourn_ms).epsilon(0.02));
}

TEST_CASE("T1: prefill and decode in tandem take the sum of two M/M/1 sojourns") {
  ClusterPlan plan = server_plan(1, 1);
  plan.decode_config.running_max = 1;
  const double prefill_s = 200.5 * 10e-6;
  const double decode_s = 250.5 * 10e-6;
  const double rate = 200;
  const std::vector<TraceRequest> requests = draw_requests(8, 400'000, {rate, 200, 250});
  const Times times = replay(plan, requests);
  const double expected_ms = 1e3 * (1 / (1 / prefill_s - rate) + 1 / (1 / decode_s - rate));
  MESSAGE("mean ", mean(times.e2e), " expected ", expected_ms);
  CHECK(mean(times.e2e) == doctest::Approx(expected_ms).epsilon(0.02));
}

}  // namespace baton::sim
