#include "sim/workload/trace_info.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace baton::sim {
namespace {

LengthStats stats_of(std::vector<std::uint32_t> values) {
  LengthStats stats;
  if (values.empty()) {
    return stats;
  }
  std::ranges::sort(values);
  const auto rank = [&values](std::uint64_t percent) { return values[(percent * values.size() + 99) / 100 - 1]; };
  for (const std::uint32_t value : values) {
    stats.sum += value;
  }
  stats.mean = static_cast<double>(stats.sum) / static_cast<double>(values.size());
  stats.p50 = rank(50);
  stats.p90 = rank(90);
  stats.p99 = rank(99);
  stats.max = values.back();
  return stats;
}

// Arrivals as they come, without keeping them all but for the distances of different ones.
class Arrivals final {
 public:
  void add(Duration arrival) {
    if (count_ == 0) {
      begin_ = arrival;
    } else {
      const Duration gap = arrival - end_;
      const double gap_seconds = seconds(gap);
      sum_of_squares_ += gap_seconds * gap_seconds;
      if (gap > Duration{0}) {
        distances_.push_back(gap);
      }
    }
    end_ = arrival;
    ++count_;
  }

  void finish(TraceInfo& info) {
    info.begin = begin_;
    info.end = end_;
    info.stamps = count_ == 0 ? 0 : distances_.size() + 1;
    if (count_ < 2) {
      return;
    }
    const auto gaps = static_cast<double>(count_ - 1);
    const double span = seconds(end_ - begin_);
    info.zero_gaps = 1 - static_cast<double>(distances_.size()) / gaps;
    if (span <= 0) {
      return;
    }
    const double mean = span / gaps;
    info.rate = 1 / mean;
    info.gap_cv = std::sqrt(std::max(0.0, sum_of_squares_ / gaps - mean * mean)) / mean;
    const auto middle = distances_.begin() + static_cast<std::ptrdiff_t>((distances_.size() - 1) / 2);
    std::ranges::nth_element(distances_, middle);
    info.stamp_distance = *middle;
  }

 private:
  std::uint64_t count_ = 0;
  Duration begin_{};
  Duration end_{};
  double sum_of_squares_ = 0;
  std::vector<Duration> distances_;
};

// A prefix cache that forgets nothing, keyed by whole blocks.
class Prefixes final {
 public:
  void add(const TraceRequest& request, TraceInfo& info) {
    if (request.block_tokens == 0) {
      return;
    }
    info.block_tokens = request.block_tokens;
    std::uint64_t full = 0;
    std::uint64_t open = 0;
    bool is_hit = true;
    for (std::size_t i = 0; i < request.blocks.size(); ++i) {
      const std::uint64_t end = (i + 1) * request.block_tokens;
      is_hit = !known_.insert(request.blocks[i]).second && is_hit;
      if (is_hit) {
        full = end <= request.input_tokens ? end : full;
        open = std::min<std::uint64_t>(end, request.input_tokens);
      }
    }
    info.hit_tokens += full;
    info.hit_tokens_open += open;
  }

  std::uint64_t blocks() const noexcept { return known_.size(); }

 private:
  std::unordered_set<std::uint64_t> known_;
};

std::string lengths_text(const char* name, const LengthStats& stats) {
  return fmt::format("{:<10} mean {:.0f}, p50 {}, p90 {}, p99 {}, max {}; {:.1f} M tokens in all\n", name, stats.mean,
                     stats.p50, stats.p90, stats.p99, stats.max, static_cast<double>(stats.sum) / 1e6);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string lengths_json(const LengthStats& stats) {
  return fmt::format(R"({{"mean": {:.3f}, "p50": {}, "p90": {}, "p99": {}, "max": {}, "sum": {}}})", stats.mean,
                     stats.p50, stats.p90, stats.p99, stats.max, stats.sum);
}

}  // namespace

TraceInfo trace_info(RowSource& rows) {
  TraceInfo info;
  Arrivals arrivals;
  Prefixes prefixes;
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;
  std::unordered_set<std::uint64_t> sessions;
  while (const std::optional<TraceRow> row = rows.next()) {
    const TraceRequest& request = row->request;
    ++info.requests;
    info.failed += request.output_tokens == 0 ? 1 : 0;
    info.follow += row->follows ? 1 : 0;
    if (request.session != 0) {
      sessions.insert(request.session);
    }
    if (!row->follows) {
      arrivals.add(request.arrival);
    }
    inputs.push_back(request.input_tokens);
    outputs.push_back(request.output_tokens);
    prefixes.add(request, info);
  }
  info.sessions = sessions.size();
  info.blocks = prefixes.blocks();
  info.input = stats_of(std::move(inputs));
  info.output = stats_of(std::move(outputs));
  arrivals.finish(info);
  return info;
}

std::string info_text(const TraceInfo& info) {
  std::string text = fmt::format("requests   {}", info.requests);
  if (info.failed > 0) {
    text += fmt::format(", {} of them without an answer (failed or turned away)", info.failed);
  }
  if (info.sessions > 0) {
    text += fmt::format(", {} conversations", info.sessions);
  }
  if (info.follow > 0) {
    text += fmt::format(", {} turns wait for the one before", info.follow);
  }
  text += fmt::format("\ntime       {:.1f} s from {:.3f} s on, {:.2f} {}/s, CV of gaps {:.2f}\n",
                      seconds(info.end - info.begin), seconds(info.begin), info.rate,
                      info.follow > 0 ? "first turns" : "requests", info.gap_cv);
  if (info.is_coarse()) {
    text += fmt::format("           coarse: {:.0f} % of gaps are zero, time stamps are {:.3f} s apart (--spread)\n",
                        100 * info.zero_gaps, seconds(info.stamp_distance));
  }
  text += lengths_text("input", info.input) + lengths_text("output", info.output);
  if (info.block_tokens == 0) {
    return text + "prefixes   the trace says nothing about them\n";
  }
  return text + fmt::format(
                    "prefixes   {} different blocks of {} tokens; in a cache that forgets nothing\n"
                    "           {:.1f} % of input tokens are hits ({:.1f} % if partial blocks were shared)\n",
                    info.blocks, info.block_tokens, 100 * share(info.hit_tokens, info.input.sum),
                    100 * share(info.hit_tokens_open, info.input.sum));
}

std::string info_json(const std::string& name, const TraceInfo& info) {
  return fmt::format(
      "{{\"trace\": {}, \"requests\": {}, \"failed\": {}, \"follow\": {}, \"sessions\": {},\n"
      " \"begin_s\": {:.9f}, \"end_s\": {:.9f}, \"rate_rps\": {:.6f}, \"gap_cv\": {:.6f}, \"zero_gaps\": {:.6f},\n"
      " \"stamps\": {}, \"stamp_distance_s\": {:.9f}, \"coarse\": {},\n"
      " \"input\": {},\n \"output\": {},\n"
      " \"block_tokens\": {}, \"blocks\": {}, \"hit_tokens\": {}, \"hit_share\": {:.6f}, "
      "\"hit_share_partial\": {:.6f}}}",
      boost::json::serialize(boost::json::value(name)), info.requests, info.failed, info.follow, info.sessions,
      seconds(info.begin), seconds(info.end), info.rate, info.gap_cv, info.zero_gaps, info.stamps,
      seconds(info.stamp_distance), info.is_coarse(), lengths_json(info.input), lengths_json(info.output),
      info.block_tokens, info.blocks, info.hit_tokens, share(info.hit_tokens, info.input.sum),
      share(info.hit_tokens_open, info.input.sum));
}

}  // namespace baton::sim
