// What there is to know about a trace before running it. One pass; memory for lengths, arrivals and distinct blocks.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/time.h"
#include "sim/workload/row_source.h"

namespace baton::sim {

// Of a list of numbers; percentiles are by nearest rank: the least value with that share of all at or below it.
struct LengthStats {
  std::uint64_t sum = 0;
  double mean = 0;
  std::uint32_t p50 = 0;
  std::uint32_t p90 = 0;
  std::uint32_t p99 = 0;
  std::uint32_t max = 0;
};

struct TraceInfo {
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;    // without an answer
  std::uint64_t follow = 0;    // turns that wait for the one before
  std::uint64_t sessions = 0;  // different ones

  // Of the requests that have an arrival.
  Duration begin{};
  Duration end{};
  double rate = 0;            // a second, between the first and the last arrival; 0: there is no time between
  double gap_cv = 0;          // deviation of the gaps divided by their mean
  double zero_gaps = 0;       // share of gaps that are zero
  std::uint64_t stamps = 0;   // different times
  Duration stamp_distance{};  // median distance from one to the next

  LengthStats input;
  LengthStats output;

  // Prefixes, where the trace names blocks.
  std::uint32_t block_tokens = 0;
  std::uint64_t blocks = 0;           // different ones
  std::uint64_t hit_tokens = 0;       // of prompts, in full blocks, with a cache that forgets nothing
  std::uint64_t hit_tokens_open = 0;  // the same if partial last blocks were shared, as some papers count

  // Time stamps sit on a grid: most requests come with another one.
  bool is_coarse() const noexcept { return requests > 10 && zero_gaps > 0.5 && stamps > 1; }
};

// Reads to the end. Throws what reading throws.
TraceInfo trace_info(RowSource& rows);

std::string info_text(const TraceInfo& info);                           // for people, several lines
std::string info_json(const std::string& name, const TraceInfo& info);  // one JSON object

}  // namespace baton::sim
