#include "sim/workload/trace_writer.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"
#include "sim/workload/page_keys.h"

namespace baton::sim {
namespace {

constexpr std::uint32_t kMooncakeBlock = 512;
constexpr auto kFirstDay = std::chrono::year(2024) / 1 / 1;  // where an Azure trace's clock begins

// A number of nanoseconds as a decimal number of units of 10^digits ns, without zeros at the end.
std::string decimal(Duration time, unsigned digits) {
  std::uint64_t unit = 1;
  for (unsigned i = 0; i < digits; ++i) {
    unit *= 10;
  }
  const auto value = static_cast<std::uint64_t>(time.count());
  std::string text = std::to_string(value / unit);
  if (value % unit != 0) {
    text += fmt::format(".{:0{}}", value % unit, digits);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

class MooncakeWriter final : public RowWriter {
 public:
  explicit MooncakeWriter(const TextSink& sink) : sink_(sink) {}

  void write(const TraceRow& row) override {
    const TraceRequest& request = row.request;
    std::string line = "{";
    if (!request.id.empty()) {
      line += fmt::format("\"request_id\": {}, ", boost::json::serialize(boost::json::value(request.id)));
    }
    if (request.session != 0) {
      line += fmt::format("\"session_id\": \"{}\", ", request.session);
    }
    line += row.follows ? fmt::format("\"delay_ms\": {}", decimal(request.think, 6))
                        : fmt::format("\"timestamp\": {}", decimal(request.arrival, 6));
    line += fmt::format(", \"input_length\": {}, \"output_length\": {}", request.input_tokens, request.output_tokens);
    if (request.block_tokens > 0) {
      line += fmt::format(", \"hash_ids\": [{}]", fmt::join(blocks_of(request), ", "));
    }
    if (request.priority != 0) {
      line += fmt::format(", \"priority\": {}", request.priority);
    }
    sink_(line + "}\n");
  }

 private:
  std::vector<std::uint64_t> blocks_of(const TraceRequest& request) {
    const std::size_t wanted = (request.input_tokens + kMooncakeBlock - 1) / kMooncakeBlock;
    std::vector<std::uint64_t> ids;
    if (request.block_tokens == kMooncakeBlock) {
      ids = request.blocks;
      ids.resize(std::min(ids.size(), wanted));
      return ids;
    }
    for (const std::uint64_t key : prompt_page_keys(request, kMooncakeBlock)) {
      const auto [known, is_new] = numbers_.emplace(key, next_);
      next_ += is_new ? 1 : 0;
      ids.push_back(known->second);
    }
    while (ids.size() < wanted) {  // what nobody shares
      ids.push_back(next_++);
    }
    return ids;
  }

  const TextSink& sink_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  std::uint64_t next_ = 0;
};

class CsvWriter final : public RowWriter {
 public:
  CsvWriter(TraceFormat format, const TextSink& sink) : format_(format), sink_(sink) {
    sink_(format == TraceFormat::vidur   ? "arrived_at,num_prefill_tokens,num_decode_tokens\n"
          : format == TraceFormat::azure ? "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                         : "num_prefill_tokens,num_decode_tokens\n");
  }

  void write(const TraceRow& row) override {
    const TraceRequest& request = row.request;
    if (row.follows && format_ != TraceFormat::lengths) {
      throw Error(Errc::invalid_argument,
                  fmt::format("this trace has turns that wait for others, which {} cannot say; mooncake can",
                              to_string(format_)));
    }
    std::string line = format_ == TraceFormat::vidur   ? decimal(request.arrival, 9) + ","
                       : format_ == TraceFormat::azure ? date_text(request.arrival) + ","
                                                       : std::string();
    sink_(line + fmt::format("{},{}\n", request.input_tokens, request.output_tokens));
  }

 private:
  static std::string date_text(Duration arrival) {
    const auto time = std::chrono::sys_days(kFirstDay).time_since_epoch() + arrival;
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{std::chrono::sys_days(days)};
    const std::chrono::hh_mm_ss clock{time - days};
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:07}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count() / 100);
  }

  TraceFormat format_;
  const TextSink& sink_;
};

}  // namespace

const std::vector<TraceFormat>& writable_formats() {
  static const std::vector<TraceFormat> all{TraceFormat::mooncake, TraceFormat::vidur, TraceFormat::azure,
                                            TraceFormat::lengths};
  return all;
}

std::unique_ptr<RowWriter> make_row_writer(TraceFormat format, const TextSink& sink) {
  BATON_CHECK(std::ranges::find(writable_formats(), format) != writable_formats().end(), to_string(format));
  if (format == TraceFormat::mooncake) {
    return std::make_unique<MooncakeWriter>(sink);
  }
  return std::make_unique<CsvWriter>(format, sink);
}

}  // namespace baton::sim
