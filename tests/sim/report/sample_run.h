// A RunResult of a made-up run, the same every time: two prefill and two decode ranks, some failures, a bad id.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/random.h"
#include "sim/report/run_result.h"

namespace baton::sim::test {

inline constexpr double kRunSeconds = 100.0;

inline RequestRecord sample_request(Random& random, int number) {
  RequestRecord record;
  record.id = number == 3 ? "</script>\"<b>" : "r" + std::to_string(number);
  record.arrival_s = 10.0 + (kRunSeconds - 20.0) * number / 1000.0;
  record.prompt_tokens = 100 + static_cast<std::uint32_t>(random.uniform(4000));
  record.cached_tokens = record.prompt_tokens / 4;
  if (number % 100 == 7) {
    record.error = number % 200 == 7 ? Errc::overloaded : Errc::timeout;
    record.error_origin = "router";
    record.e2e_ms = 50.0;
    record.stages_ms[0] = 50.0;
    return record;
  }
  record.reason = FinishReason::length;
  record.output_tokens = 1 + static_cast<std::uint32_t>(random.uniform(200));
  double total = 0.0;
  for (double& stage : record.stages_ms) {
    stage = -std::log1p(-random.unit()) * 30.0;
    total += stage;
  }
  record.stages_ms[static_cast<std::size_t>(Stage::decode)] = 20.0 * (record.output_tokens - 1);
  record.ttft_ms = total;
  record.e2e_ms = total + 20.0 * (record.output_tokens - 1);
  if (record.output_tokens > 1) {
    record.tpot_ms = 20.0;
    record.itl_max_ms = 35.0;
  }
  record.prefill = RankId{Role::prefill, static_cast<std::uint32_t>(number % 2)};
  record.decode = RankId{Role::decode, static_cast<std::uint32_t>(number / 2 % 2)};
  record.chunks = 1;
  record.pages = record.prompt_tokens / 16 + 1;
  record.moved_bytes = record.pages * 1000;
  return record;
}

inline void add_ranks(RunResult& result) {
  for (const Role role : {Role::prefill, Role::decode}) {
    for (std::uint32_t index = 0; index < 2; ++index) {
      RankUse use;
      use.rank = {role, index};
      use.gpus = 8;
      use.busy = std::chrono::seconds(role == Role::prefill ? 40 + 20 * index : 80);
      use.steps = 1000;
      use.pages = 100;
      use.pages_used_max = 50 + 25 * index;
      use.usd_per_gpu_hour = 2.0;
      result.ranks.push_back(use);
    }
  }
}

inline void add_samples(RunResult& result, Random& random) {
  for (int i = 0; i < 5000; ++i) {
    ClusterSample sample;
    sample.time = result.began + std::chrono::milliseconds(20 * i);
    sample.waiting_prefill = static_cast<std::uint32_t>(10.0 + 10.0 * std::sin(i / 300.0));
    sample.computing_prefill = 2;
    sample.in_transfer = static_cast<std::uint32_t>(random.uniform(3));
    sample.running_decode = static_cast<std::uint32_t>(20.0 + 15.0 * std::sin(i / 400.0 + 1.0));
    sample.prefill_busy = 0.5 + 0.4 * std::sin(i / 300.0);
    sample.decode_busy = 0.8;
    sample.links_busy = 0.1 * random.unit();
    sample.pages_used = 0.5;
    result.samples.push_back(sample);
  }
}

inline void add_spans(RunResult& result) {
  result.tracks = {
      {TrackKind::prefill, "prefill/0"}, {TrackKind::link, "prefill/0 to decode/1"}, {TrackKind::decode, "decode/1"}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    result.spans.push_back({i, i == 1 ? "transfer" : "step", TimePoint(std::chrono::milliseconds(10 * i)),
                            std::chrono::microseconds(1500), 7, 512});
  }
}

inline RunResult sample_run() {
  Slo slo;
  slo.ttft_ms = 300;
  slo.tpot_ms = 50;
  RunResult result;
  result.requests = RequestTally(slo);
  result.version = "baton 0";
  result.trace_name = "made-up";
  result.cluster_name = "2p2d";
  result.configuration = "name = \"2p2d\"\n[prefill]\nranks = 2\n";
  result.configuration_hash = "0123456789abcdef";
  result.seed = 5;
  result.began = TimePoint(std::chrono::seconds(10));
  result.simulated = std::chrono::seconds(100);
  result.wall_s = 0.05;
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const RequestRecord record = sample_request(random, i);
    result.requests.add(record);
    if (record.output_tokens > 1) {
      result.gaps.add(std::chrono::milliseconds(20), record.output_tokens - 2);
      result.gaps.add(std::chrono::milliseconds(35), 1);
    }
  }
  add_ranks(result);
  add_samples(result, random);
  add_spans(result);
  result.links = {{"prefill/0 nic out", 1e9, 5e9, std::chrono::seconds(9)},
                  {"prefill/1 nic out", 1e9, 0.0, Duration(0)}};
  result.network_bytes = 5e9;
  result.by_layer = {std::chrono::seconds(60), Duration(0), std::chrono::seconds(180)};
  result.extrapolated = std::chrono::seconds(24);
  result.communication = std::chrono::seconds(12);
  result.warnings = {"KV capacity was derived, not given"};
  return result;
}

}  // namespace baton::sim::test
