// The way in: a path and what is to be done to the trace, as requests.
//
//   file --read--> sort -> arrivals -> spread -> from/to -> without failed -> thin -> rate -> caps -> first --> repeat
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/workload/arrivals.h"
#include "sim/workload/lengths.h"
#include "sim/workload/request.h"
#include "sim/workload/row_source.h"
#include "sim/workload/synthetic_spec.h"
#include "sim/workload/trace_reader.h"
#include "sim/workload/transforms.h"

namespace baton::sim {

struct TraceOptions {
  ReadOptions read;
  std::string category;                 // of a servegen table
  std::optional<LengthSpec> input;      // for a servegen table
  std::optional<LengthSpec> output;     // for a servegen table
  std::optional<ArrivalSpec> arrivals;  // in place of the file's; lengths have none and need them
  bool sort = false;
  bool spread = false;
  std::optional<Duration> spread_tick;
  Duration from{};
  std::optional<Duration> to;
  bool drop_failed = false;
  double thin = 1;
  double rate_scale = 1;
  LengthCaps caps;
  std::optional<std::uint64_t> first;
  std::uint64_t repeat = 1;
  std::optional<std::uint64_t> seed;  // of everything drawn; none: 1, or what a synthetic load says
};

// A path that ends in ".toml" is a synthetic load (synthetic_spec.h). Throws Error(not_found), (bad_file) and
// (invalid_argument), also for an option that has no effect on this file, and at the end when no request came.
std::unique_ptr<RowSource> open_rows(const std::string& path, const TraceOptions& options);

// The same for a synthetic load that is in no file; its seed is the spec's, whatever the options say.
std::unique_ptr<RowSource> open_rows(const SyntheticSpec& spec, const TraceOptions& options);

// Rows as requests, for a simulation to take.
std::unique_ptr<RequestSource> as_requests(std::unique_ptr<RowSource> rows);

// as_requests(open_rows(...)).
std::unique_ptr<RequestSource> open_trace(const std::string& path, const TraceOptions& options = {});

}  // namespace baton::sim
