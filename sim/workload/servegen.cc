#include "sim/workload/servegen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/errors.h"
#include "runtime/random.h"
#include "sim/workload/csv_row.h"
#include "sim/workload/draws.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/row_fields.h"
#include "sim/workload/spec_text.h"

namespace baton::sim {
namespace {

constexpr double kRateMax = 1e7;
constexpr double kCvMax = 1e5;  // clients that are silent for hours have hundreds

struct Window {
  double begin = 0;  // seconds
  double rate = 0;   // a second
  double cv = 1;
  double input = 0;  // mean tokens; 0: the table does not say
  double output = 0;
};

enum Field : std::size_t { kCategory, kBegin, kRate, kCv, kInput, kOutput, kFields };
constexpr std::array<std::string_view, kFields> kNames{"category",          "window_start_s",
                                                       "rate_rps",          "rate_weighted_interarrival_cv",
                                                       "mean_input_tokens", "mean_output_tokens"};

class Table final {
 public:
  Table(std::unique_ptr<ByteInput> input, std::string category)
      : lines_(std::move(input)), category_(std::move(category)) {
    std::string_view line;
    while (lines_.next(line)) {
      if (line.find_first_not_of(" \t") != std::string_view::npos) {
        read(line);
      }
    }
    if (category_.empty() && categories_.size() > 1) {
      refuse("several categories of requests; choose one (--category)");
    }
    if (windows_.empty()) {
      refuse(category_.empty() ? "no windows in it" : fmt::format("no category '{}' in it", category_));
    }
  }

  const std::vector<Window>& windows() const noexcept { return windows_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Errc::invalid_argument,
                fmt::format("{}: {}{}{}", lines_.name(), why, categories_.empty() ? "" : ": there is ",
                            fmt::join(categories_, ", ")));
  }

  void read(std::string_view line) {
    const RowPlace place{lines_.name(), lines_.number()};
    row_.read(place, line, columns_);
    if (columns_ == 0) {
      read_header(place);
      return;
    }
    const std::string category(row_[at_[kCategory]]);
    categories_.insert(category);
    if (!category_.empty() && category != category_) {
      return;
    }
    const Window window{number(place, kBegin, 0, seconds(kArrivalMax)), number(place, kRate, 0, kRateMax),
                        number(place, kCv, 1, kCvMax), number(place, kInput, 0, kTokensMax),
                        number(place, kOutput, 0, kTokensMax)};
    if (!windows_.empty() && category_.empty() && categories_.size() > 1) {
      return;  // refused at the end, when all categories are known
    }
    if (!windows_.empty() && window.begin <= windows_.back().begin) {
      refuse_field(place, kNames[kBegin], row_[at_[kBegin]], "a window begins after the one before it");
    }
    windows_.push_back(window);
  }

  void read_header(const RowPlace& place) {
    columns_ = row_.size();
    for (std::size_t field = 0; field < kFields; ++field) {
      const auto found = std::ranges::find(row_.fields(), kNames[field]);
      if (found == row_.fields().end()) {
        refuse_row(place, fmt::format("the column '{}' is missing", kNames[field]));
      }
      at_[field] = static_cast<std::size_t>(found - row_.fields().begin());
    }
  }

  // An empty field is `absent`.
  double number(const RowPlace& place, Field field, double absent, double max) const {
    const std::string text(row_[at_[field]]);
    if (text.empty() && field >= kCv) {
      return absent;
    }
    try {
      return spec_real(text, 0, max);
    } catch (const Error&) {
      refuse_field(place, kNames[field], text, fmt::format("a number from 0 to {} is wanted", max));
    }
  }

  LineReader lines_;
  std::string category_;
  CsvRow row_;
  std::size_t columns_ = 0;
  std::array<std::size_t, kFields> at_{};
  std::set<std::string> categories_;
  std::vector<Window> windows_;
};

class RateRows final : public RowSource {
 public:
  RateRows(std::vector<Window> windows, const RateOptions& options)
      : windows_(std::move(windows)), options_(options), random_(Random(options.seed).fork(2)) {
    now_ = windows_.front().begin;
    const std::size_t count = windows_.size();
    const double last = count > 1 ? windows_[count - 1].begin - windows_[count - 2].begin : 600;
    end_ = windows_.back().begin + last;
  }

  std::optional<TraceRow> next() override {
    const double start = windows_.front().begin;
    if (!advance()) {
      return std::nullopt;
    }
    const Window& window = windows_[at_];
    TraceRow row;
    row.request.arrival = Duration(std::llround((now_ - start) * 1e9));
    row.request.input_tokens = length(options_.input, window.input);
    row.request.output_tokens = length(options_.output, window.output);
    return row;
  }

 private:
  // Goes on by a gap whose unit is the mean one of the window. False: beyond the last window.
  bool advance() {
    double gap = draw_gamma(random_, 1, windows_[at_].cv);
    while (true) {
      const double end = at_ + 1 < windows_.size() ? windows_[at_ + 1].begin : end_;
      const double whole = (end - now_) * windows_[at_].rate;
      if (gap < whole) {
        now_ += gap / windows_[at_].rate;
        return true;
      }
      gap -= whole;
      now_ = end;
      if (++at_ == windows_.size()) {
        --at_;
        return false;
      }
    }
  }

  std::uint32_t length(const std::optional<LengthSpec>& given, double mean) {
    if (given) {
      return draw_length(*given, random_, kTokensMax);
    }
    return static_cast<std::uint32_t>(std::clamp(std::round(mean), 1.0, static_cast<double>(kTokensMax)));
  }

  std::vector<Window> windows_;
  RateOptions options_;
  Random random_;
  std::size_t at_ = 0;  // the window of now_
  double now_ = 0;      // seconds
  double end_ = 0;      // of the last window
};

}  // namespace

std::unique_ptr<RowSource> rate_rows(std::unique_ptr<ByteInput> table, const RateOptions& options) {
  const std::string name = table->name();
  const Table read(std::move(table), options.category);
  for (const Window& window : read.windows()) {
    const bool has_lengths = (options.input || window.input > 0) && (options.output || window.output > 0);
    if (window.rate > 0 && !has_lengths) {
      throw Error(Errc::invalid_argument,
                  fmt::format("{}: no mean lengths in the window at {} s; give lengths (--input, --output)", name,
                              window.begin));
    }
  }
  return std::make_unique<RateRows>(read.windows(), options);
}

}  // namespace baton::sim
