#include "sim/cost/skew_table.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/cost/csv_table.h"

namespace baton::sim {
namespace {

// "n<=128", "sr<=15%", "kvB<=4k", "kp=0" have an upper bound; "n>256" has none.
double upper_bound_of(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string& label = table.word(row, column);
  const std::size_t digits = label.find_first_of("0123456789");
  double value = 0;
  const char* end = label.data() + label.size();
  const auto [rest, error] = std::from_chars(label.data() + std::min(digits, label.size()), end, value);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (error != std::errc{} || (unit != "" && unit != "k" && unit != "%")) {
    throw Error(Errc::bad_file, fmt::format("{}:{}: a bucket such as \"n<=128\" is wanted, not '{}'", table.name(),
                                            table.line(row), label));
  }
  if (label.find('>') != std::string::npos) {
    return std::numeric_limits<double>::infinity();
  }
  return unit == "k" ? value * 1024 : unit == "%" ? value / 100 : value;
}

}  // namespace

SkewTable SkewTable::read(const std::string& path) {
  const CsvTable file = CsvTable::read(path);
  const std::size_t chunk = file.column("pc");
  const std::array labels{file.column("n_label"), file.column("skew_rate_label"), file.column("kv_big_label"),
                          file.column("kp_label")};
  const std::size_t alpha = file.column("alpha");
  const std::size_t samples = file.column("n_samples");
  SkewTable table;
  double weighted = 0;
  double weight = 0;
  for (std::size_t row = 0; row < file.rows(); ++row) {
    Bucket bucket{file.number(row, chunk)};
    for (std::size_t i = 0; i < labels.size(); ++i) {
      bucket[i + 1] = upper_bound_of(file, row, labels[i]);
    }
    double value = 0;
    const std::string& text = file.word(row, alpha);
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
      throw Error(Errc::bad_file,
                  fmt::format("{}:{}: alpha: a number is wanted, not '{}'", path, file.line(row), text));
    }
    table.alphas_[bucket] = value;
    weighted += value * file.number(row, samples);
    weight += file.number(row, samples);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      table.bounds_[axis].push_back(bucket[axis]);
    }
  }
  for (std::vector<double>& bounds : table.bounds_) {
    std::ranges::sort(bounds);
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  }
  table.otherwise_ = weight > 0 ? weighted / weight : 0;
  return table;
}

double SkewTable::alpha(const StepLoad& load) const {
  if (alphas_.empty() || load.decode_sequences < 2 || load.decode_context_min == load.decode_context_max) {
    return 0;
  }
  const double mean = static_cast<double>(load.decode_context) / load.decode_sequences;
  const double rate = (mean - load.decode_context_min) / (load.decode_context_max - load.decode_context_min);
  const Bucket at{static_cast<double>(load.prefill_tokens), static_cast<double>(load.decode_sequences), rate,
                  static_cast<double>(load.decode_context_max), static_cast<double>(load.prefill_context)};
  Bucket bucket{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const auto bound = std::ranges::lower_bound(bounds_[axis], at[axis]);
    bucket[axis] = bound == bounds_[axis].end() ? bounds_[axis].back() : *bound;
  }
  const auto found = alphas_.find(bucket);
  return found == alphas_.end() ? otherwise_ : found->second;
}

}  // namespace baton::sim
