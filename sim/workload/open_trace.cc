#include "sim/workload/open_trace.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/workload/servegen.h"
#include "sim/workload/session_replay.h"
#include "sim/workload/synthetic.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kSeed = 1;

// Says so when there was nothing, since a run without requests shows nothing and looks like a good one.
class NotEmpty final : public RowSource {
 public:
  NotEmpty(std::unique_ptr<RowSource> rows, std::string name) : rows_(std::move(rows)), name_(std::move(name)) {}

  std::optional<TraceRow> next() override {
    std::optional<TraceRow> row = rows_->next();
    if (!row && !any_) {
      throw Error(Errc::invalid_argument, fmt::format("{}: nothing is left of this trace", name_));
    }
    any_ = true;
    return row;
  }

 private:
  std::unique_ptr<RowSource> rows_;
  std::string name_;
  bool any_ = false;
};

[[noreturn]] void refuse_option(const std::string& path, const char* option, const char* why) {
  throw Error(Errc::invalid_argument, fmt::format("{}: {} has no effect on {}", path, option, why));
}

bool is_synthetic(const std::string& path) {
  return path.ends_with(".toml");
}

bool is_rates(const std::string& path, const ReadOptions& options) {
  if (options.format) {
    return *options.format == TraceFormat::servegen;
  }
  LineReader lines(open_input(path));
  std::string_view line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t") != std::string_view::npos) {
      return detect_format({path, lines.number()}, line) == TraceFormat::servegen;
    }
  }
  return false;
}

void check_not_rows(const std::string& path, const TraceOptions& options, const char* what) {
  const std::pair<bool, const char*> given[] = {{options.read.block_tokens != 0, "block size"},
                                                {options.read.rebase, "rebasing"},
                                                {options.sort, "sorting"},
                                                {options.arrivals.has_value(), "an arrival process"}};
  for (const auto& [is_given, name] : given) {
    if (is_given) {
      refuse_option(path, name, what);
    }
  }
}

void check_not_rates(const std::string& path, const TraceOptions& options, const char* what) {
  const std::pair<bool, const char*> given[] = {{!options.category.empty(), "a category"},
                                                {options.input.has_value(), "an input length"},
                                                {options.output.has_value(), "an output length"}};
  for (const auto& [is_given, name] : given) {
    if (is_given) {
      refuse_option(path, name, what);
    }
  }
}

std::unique_ptr<RowSource> open_synthetic(const std::string& path, const TraceOptions& options) {
  const char* what = "a synthetic load, whose file says it all";
  check_not_rows(path, options, what);
  check_not_rates(path, options, what);
  if (options.read.format) {
    refuse_option(path, "a format", what);
  }
  SyntheticSpec spec = read_synthetic(path);
  spec.seed = options.seed.value_or(spec.seed);
  return synthetic_rows(spec);
}

std::unique_ptr<RowSource> open_file(const std::string& path, const TraceOptions& options) {
  if (is_rates(path, options.read)) {
    check_not_rows(path, options, "rates by time");
    const RateOptions rates{options.category, options.input, options.output, options.seed.value_or(kSeed)};
    return rate_rows(open_input(path), rates);
  }
  check_not_rates(path, options, "a trace of requests");
  ReadOptions read = options.read;
  read.any_order = options.sort || options.arrivals;
  auto reader = std::make_unique<TraceReader>(open_input(path), read);
  if (!reader->has_arrivals() && !options.arrivals) {
    throw Error(Errc::invalid_argument,
                fmt::format("{}: lengths without arrivals; give a process (--arrivals poisson:RATE)", path));
  }
  if (!reader->has_arrivals() && (options.sort || read.rebase)) {
    refuse_option(path, options.sort ? "sorting" : "rebasing", "lengths without arrivals");
  }
  const bool rebase = reader->rebases();
  std::unique_ptr<RowSource> rows = std::move(reader);
  if (options.sort) {
    rows = sort_rows(std::move(rows), rebase);
  }
  if (options.arrivals) {
    rows = retime(std::move(rows), *options.arrivals, options.seed.value_or(kSeed));
  }
  return rows;
}

std::unique_ptr<RowSource> transform_rows(std::unique_ptr<RowSource> rows, const TraceOptions& options) {
  if (options.spread) {
    rows = spread_ticks(std::move(rows), options.spread_tick);
  }
  if (options.from > Duration{0} || options.to) {
    rows = slice_time(std::move(rows), options.from, options.to);
  }
  if (options.drop_failed) {
    rows = drop_failed(std::move(rows));
  }
  if (options.thin < 1) {
    rows = thin(std::move(rows), options.thin, options.seed.value_or(kSeed));
  }
  if (options.rate_scale != 1) {
    rows = scale_rate(std::move(rows), options.rate_scale);
  }
  if (options.caps.input || options.caps.output) {
    rows = cap_lengths(std::move(rows), options.caps);
  }
  if (options.first) {
    rows = first_rows(std::move(rows), *options.first);
  }
  return rows;
}

std::unique_ptr<RowSource> open_once(const std::string& path, const TraceOptions& options) {
  auto rows = is_synthetic(path) ? open_synthetic(path, options) : open_file(path, options);
  return std::make_unique<NotEmpty>(transform_rows(std::move(rows), options), path);
}

std::unique_ptr<RowSource> repeated(OpenRows open, std::uint64_t copies) {
  return copies == 1 ? open() : repeat_rows(std::move(open), copies);
}

}  // namespace

std::unique_ptr<RowSource> open_rows(const std::string& path, const TraceOptions& options) {
  return repeated([path, options] { return open_once(path, options); }, options.repeat);
}

std::unique_ptr<RowSource> open_rows(const SyntheticSpec& spec, const TraceOptions& options) {
  const std::string name = "the synthetic load";
  check_synthetic(spec, name);
  check_not_rows(name, options, "it");
  check_not_rates(name, options, "it");
  const auto open = [spec, options, name]() -> std::unique_ptr<RowSource> {
    return std::make_unique<NotEmpty>(transform_rows(synthetic_rows(spec), options), name);
  };
  return repeated(open, options.repeat);
}

std::unique_ptr<RequestSource> as_requests(std::unique_ptr<RowSource> rows) {
  return std::make_unique<SessionReplay>(std::move(rows));
}

std::unique_ptr<RequestSource> open_trace(const std::string& path, const TraceOptions& options) {
  return as_requests(open_rows(path, options));
}

}  // namespace baton::sim
