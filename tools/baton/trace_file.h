// The file that --trace names: what the ranks did, as ui.perfetto.dev and chrome://tracing read it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/trace.h"

namespace baton {

// What a rank keeps: with some 60 bytes each 4 MB, and some minutes of a busy decode rank. Older ones are overwritten.
inline constexpr std::size_t kTraceEventsMax = std::size_t{1} << 16;

// Why the file cannot be written; empty: it can, or the path is empty. A file that is there keeps what it holds, one
// that is not there is made.
std::string why_not_writable(const std::string& path);

// Replaces what the file holds, and says on stderr how much it is. Throws Error(unavailable).
void write_trace(const std::string& path, const std::vector<TraceEvent>& events);

}  // namespace baton
