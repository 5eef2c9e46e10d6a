// The files of a report, in one folder: summary.json, trace.json and report.html. The per-request log lies beside them;
// the runner writes it while requests end (roles/request_log.h).
#pragma once

#include <string>

#include "sim/report/run_result.h"
#include "sim/report/summary.h"

namespace baton::sim {

// Makes the folder if need be; replaces the files. Throws Error(unavailable) naming the file that cannot be written.
void write_report(const RunResult& result, const Summary& summary, const std::string& folder);

}  // namespace baton::sim
