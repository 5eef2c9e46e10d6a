// One simulated run, from a cluster and a trace to all that a report says of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "roles/request_log_record.h"
#include "sim/cluster/cluster_spec.h"
#include "sim/report/run_result.h"
#include "sim/workload/request.h"

namespace baton::sim {

// How far a run is, for those who wait for it.
struct RunProgress {
  Duration simulated{};
  std::uint64_t started = 0;  // requests
  std::uint64_t ended = 0;
};

struct RunOptions {
  std::uint64_t seed = 0;
  bool rounds = true;  // false: decode steps one at a time, to compare
  bool spans = false;  // keep the bars of a Perfetto trace
  Duration sample_period = std::chrono::seconds(1);
  std::function<void(const RequestRecord&)> on_record = {};  // every request, in order of ends
  std::function<bool(const RunProgress&)> go_on = {};        // now and then; false ends the run where it is
};

struct RunOutcome {
  RunResult result;
  bool cut_short = false;  // go_on() said so: the result is of what had ended by then
};

// Throws Error for a cluster that cannot be built and for what the source throws.
RunOutcome run_cluster(const ClusterSpec& spec, RequestSource& source, const RunOptions& options);

}  // namespace baton::sim
