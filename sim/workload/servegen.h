// Requests drawn from rates by time: a table of windows as ServeGen's client records sum up to, one line a window, with
//   category, window_start_s, rate_rps, ..., rate_weighted_interarrival_cv, mean_input_tokens, mean_output_tokens
//
// Arrivals are a Gamma process whose rate and coefficient of variation are the window's (Y. Xiang et al., "ServeGen",
// arXiv 2505.09999, model clients so); a gap that crosses windows goes on at the next one's rate. Without lengths of
// their own, requests have the window's mean lengths.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/workload/byte_input.h"
#include "sim/workload/lengths.h"
#include "sim/workload/row_source.h"

namespace baton::sim {

struct RateOptions {
  std::string category;             // which rows of the table; may be empty where there is only one
  std::optional<LengthSpec> input;  // in place of the table's means
  std::optional<LengthSpec> output;
  std::uint64_t seed = 1;
};

// Reads the whole table. Throws Error(invalid_argument) for rows that make no sense, a category that is not in it (and
// says which are), and means that are neither in the table nor given.
std::unique_ptr<RowSource> rate_rows(std::unique_ptr<ByteInput> table, const RateOptions& options);

}  // namespace baton::sim
