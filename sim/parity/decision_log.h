// DecisionLog: what a run decided, without when: what each rank put into each step and who got which pages, whom it
// admitted, retracted and took back in which order, and where each request went.
//
//   ObservedEngine --steps--+
//   Node::trace() --rooms---+--> DecisionLog --first_difference()--> the first decision that two runs took otherwise
//   clients --records-------+
//
// Two runs of one cluster in different worlds, in virtual time and on threads, are compared by it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/engine/engine.h"
#include "roles/request_log_record.h"
#include "runtime/trace.h"

namespace baton::sim {

class DecisionLog final {
 public:
  // Any thread, the steps of one rank in their order: "position+rows" of each sequence, "!" where a token is drawn, and
  // a hash of the pages that it uses.
  void step(RankId rank, const StepBatch& batch);

  // Once, after the run: the histories of all ranks (NodeConfig::trace_events), of which decisions are kept.
  void add_history(const std::vector<TraceEvent>& events);

  // Any thread: ranks, cache hits, chunks, pages, retractions and the end of a request.
  void ended(const RequestRecord& record);

  // Lines by what they are of: "decode/0 steps", "decode/0 rooms", "requests" (sorted).
  std::map<std::string, std::vector<std::string>> lines() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> lines_;
};

// "decode/0 steps, line 17: '...' in one, '...' in the other"; nothing: all decisions are the same.
std::optional<std::string> first_difference(const DecisionLog& one, const DecisionLog& other);

}  // namespace baton::sim
