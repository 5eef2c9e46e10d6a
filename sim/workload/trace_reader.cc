#include "sim/workload/trace_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

TraceFormat format_of(LineReader& lines, const ReadOptions& options) {
  std::string_view line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) {
      continue;
    }
    lines.unread();
    return options.format ? *options.format : detect_format({lines.name(), lines.number()}, line);
  }
  throw Error(Errc::invalid_argument, fmt::format("{}: an empty file", lines.name()));
}

bool begins_list(LineReader& lines) {
  std::string_view line;
  lines.next(line);
  lines.unread();
  return line.substr(std::min(line.find_first_not_of(" \t"), line.size())).starts_with('[');
}

std::unique_ptr<RowFormat> rows_of(TraceFormat format, const ReadOptions& options, const std::string& name) {
  switch (format) {
    case TraceFormat::azure:
    case TraceFormat::burstgpt:
    case TraceFormat::vidur:
    case TraceFormat::splitwise:
    case TraceFormat::lengths:
      return make_csv_format(format);
    case TraceFormat::mooncake:
    case TraceFormat::distserve:
    case TraceFormat::rtp_llm:
    case TraceFormat::bailian:
    case TraceFormat::vllm_bench:
      return make_json_format(format, options.block_tokens);
    case TraceFormat::llmservingsim:
      return make_session_format(options.block_tokens);
    case TraceFormat::servegen:
      break;
  }
  throw Error(Errc::invalid_argument,
              fmt::format("{}: holds rates by time, not requests; give a category to draw them", name));
}

// Clocks of these formats do not begin with the trace.
bool has_absolute_time(TraceFormat format) {
  return format == TraceFormat::azure || format == TraceFormat::distserve;
}

}  // namespace

TraceReader::TraceReader(std::unique_ptr<ByteInput> input, const ReadOptions& options)
    : lines_(std::move(input)),
      options_(options),
      format_(format_of(lines_, options)),
      elements_(lines_, begins_list(lines_)),
      rows_of_(rows_of(format_, options, lines_.name())) {
  options_.rebase = options_.rebase || has_absolute_time(format_);
}

std::optional<TraceRow> TraceReader::next() {
  while (given_ == pending_.size()) {
    pending_.clear();
    given_ = 0;
    std::string_view text;
    if (!elements_.next(text)) {
      if (rows_ == 0) {
        throw Error(Errc::invalid_argument, fmt::format("{}: no requests in it", lines_.name()));
      }
      return std::nullopt;
    }
    rows_of_->read({lines_.name(), elements_.number()}, text, pending_);
  }
  TraceRow row = std::move(pending_[given_++]);
  ++rows_;
  if (!row.follows && has_arrivals()) {
    check_time(row.request);
  }
  return row;
}

void TraceReader::check_time(TraceRequest& request) {
  const RowPlace place{lines_.name(), elements_.number()};
  if (!base_) {
    base_ = options_.rebase && !options_.any_order ? request.arrival : Duration{};
    last_ = request.arrival;
  }
  if (request.arrival < last_ && !options_.any_order) {
    refuse_row(place, fmt::format("comes {:.9g} s before the row in line {}; sorting it would help (--sort)",
                                  seconds(last_ - request.arrival), last_line_));
  }
  last_ = request.arrival;
  last_line_ = place.line;
  request.arrival -= *base_;
  if (request.arrival > kArrivalMax && !(options_.rebase && options_.any_order)) {
    refuse_row(place, fmt::format("comes {:.4g} days after the start; is this a date? (--rebase)",
                                  seconds(request.arrival) / 86400));
  }
}

}  // namespace baton::sim
