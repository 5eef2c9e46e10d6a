// Rows of a trace before anybody waits for anything: what readers and generators make and transforms pass on.
//
// A row either has its own arrival, or follows the turn before it in its session. session_replay.h makes requests of
// them. Rows that follow stand behind their session's first row, not necessarily directly.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "sim/workload/request.h"

namespace baton::sim {

struct TraceRow {
  TraceRequest request;
  // Comes `think` after the end of the row before it in its session; `arrival` means nothing.
  bool follows = false;
};

class RowSource {
 public:
  virtual ~RowSource() = default;

  // The next row; nothing: the end. Arrivals of rows that have one never go back. Throws Error(invalid_argument) or
  // (bad_file) for what makes no sense, with its file and line.
  virtual std::optional<TraceRow> next() = 0;
};

// Begins a trace from its start, as often as it is called.
using OpenRows = std::function<std::unique_ptr<RowSource>()>;

}  // namespace baton::sim
