// The trace of a run as ui.perfetto.dev and chrome://tracing read it (Google, "Trace Event Format"): a group of lines
// for prefill, links and decode each, and the cluster's queues as counters. Times in microseconds of virtual time.
#pragma once

#include <functional>
#include <string_view>

#include "sim/report/run_result.h"

namespace baton::sim {

// Hands the JSON out piece by piece, of some 100 kB each.
void trace_json(const RunResult& result, const std::function<void(std::string_view)>& write);

}  // namespace baton::sim
