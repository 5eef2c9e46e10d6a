// What a command is told about a trace: how to read it and what to do to it. For every command that takes one.
#pragma once

#include "sim/workload/open_trace.h"
#include "tools/baton/setting_table.h"

namespace baton {

void add_trace_settings(SettingTable& table, sim::TraceOptions& options);

// What is wrong about them together. Throws Error(invalid_argument).
void check_trace_settings(const SettingTable& table, const sim::TraceOptions& options);

}  // namespace baton
