// A small simulated cluster with a simple cost model, for tests: what goes in is random, what comes out is kept whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/random.h"
#include "sim/cluster/cluster_world.h"

namespace baton::sim {

// Nanoseconds: constant, per prefill token, per decode sequence, per thousand tokens of decode context.
struct LinearCost final : CostModel {
  std::int64_t constant = 1'000'000;
  std::int64_t prefill_token = 10'000;
  std::int64_t decode_sequence = 50'000;
  std::int64_t context_thousand = 30'000;
  std::uint32_t pipeline = 1;  // equal stages

  StepCost cost(const StepLoad& load) const override {
    const auto rows = static_cast<std::int64_t>(load.prefill_tokens) * prefill_token +
                      static_cast<std::int64_t>(load.decode_sequences) * decode_sequence +
                      static_cast<std::int64_t>(load.decode_context) * context_thousand / 1000;
    StepCost cost;
    cost.total = Duration(constant + rows);
    cost.stage = cost.total / pipeline;
    cost.by_layer[static_cast<std::size_t>(CostLayer::fitted)] = cost.total;
    return cost;
  }
  StepCost group_cost(std::span<const StepLoad> loads) const override { return cost(loads.front()); }
  std::uint32_t stages() const noexcept override { return pipeline; }
  std::string describe() const override { return "linear"; }
};

class ListSource final : public RequestSource {
 public:
  explicit ListSource(std::vector<TraceRequest> requests) : requests_(std::move(requests)) {}

  std::optional<Duration> peek() override {
    return next_ < requests_.size() ? std::optional(requests_[next_].arrival) : std::nullopt;
  }
  std::optional<TraceRequest> next() override {
    return next_ < requests_.size() ? std::optional(requests_[next_++]) : std::nullopt;
  }
  void finished(std::uint64_t, Duration) override {}

 private:
  std::vector<TraceRequest> requests_;
  std::size_t next_ = 0;
};

// One line a request and one a token run: equal logs, equal clients' lives.
struct LogSink final : ReplaySink {
  std::vector<std::string> lines;
  std::vector<TimePoint> gaps;  // every token but first ones
  std::uint64_t failures = 0;
  std::uint64_t cached_tokens = 0;  // of all prompts

  void tokens(TimePoint, std::span<const TimePoint> ends) override {
    gaps.insert(gaps.end(), ends.begin(), ends.end());
  }
  void ended(const TraceRequest& request, const RequestRecord& record) override {
    failures += record.ok() ? 0 : 1;
    cached_tokens += record.cached_tokens;
    std::string line = fmt::format("{} {} {} {} {} {} {}", request.id, record.arrival_s, record.ttft_ms,
                                   record.itl_max_ms, record.e2e_ms, record.output_tokens, record.error_origin);
    for (const double stage : record.stages_ms) {
      line += fmt::format(" {}", stage);
    }
    lines.push_back(line + fmt::format(" {} {} {}", record.chunks, record.cached_tokens, record.retractions));
  }
};

inline KvLayout small_layout(std::uint32_t page_tokens) {
  KvLayout layout;
  layout.layers = 2;
  layout.kv_heads = 1;
  layout.head_dim = 8;
  layout.page_tokens = page_tokens;
  return layout;
}

inline ClusterPlan small_plan(std::uint32_t prefill, std::uint32_t decode, std::uint32_t pages) {
  ClusterPlan plan;
  plan.prefill = {prefill, std::make_shared<LinearCost>(), pages, 1};
  plan.decode = {decode, std::make_shared<LinearCost>(), pages, 1};
  plan.layout = small_layout(16);
  const auto place = [&plan](Role role, std::uint32_t ranks) {
    for (std::uint32_t i = 0; i < ranks; ++i) {
      RankPlace one;
      one.rank = {role, i};
      one.node = static_cast<std::uint32_t>(plan.places.size());
      one.nic_bytes_per_s = 1e9;
      plan.places.push_back(one);
    }
  };
  place(Role::prefill, prefill);
  place(Role::decode, decode);
  plan.router_config.open_max = 1U << 20;
  plan.router_config.time_limit = std::chrono::hours(24);
  plan.prefill_config.rooms_max = 1U << 20;
  plan.decode_config.waiting_max = 1U << 20;
  return plan;
}

inline std::vector<TraceRequest> random_requests(std::uint64_t seed, std::size_t count, Duration mean_gap,
                                                 std::uint32_t input_max, std::uint32_t output_max) {
  Random random(seed);
  std::vector<TraceRequest> requests;
  Duration at{};
  for (std::size_t i = 0; i < count; ++i) {
    TraceRequest request;
    at += Duration(static_cast<std::int64_t>(random.uniform(2 * static_cast<std::uint64_t>(mean_gap.count()) + 1)));
    request.arrival = at;
    request.input_tokens = 1 + static_cast<std::uint32_t>(random.uniform(input_max));
    request.output_tokens = 1 + static_cast<std::uint32_t>(random.uniform(output_max));
    request.id = std::to_string(i);
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace baton::sim
