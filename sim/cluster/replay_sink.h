// Who hears what the simulated clients see.
#pragma once

#include <span>

#include "roles/request_log_record.h"
#include "runtime/time.h"
#include "sim/workload/request.h"

namespace baton::sim {

class ReplaySink {
 public:
  virtual ~ReplaySink() = default;

  // Tokens of one request after its first: they came at `ends`, the one before them at `before`.
  virtual void tokens(TimePoint before, std::span<const TimePoint> ends) = 0;

  // The request is over; in order of ends, once for each.
  virtual void ended(const TraceRequest& request, const RequestRecord& record) = 0;
};

}  // namespace baton::sim
