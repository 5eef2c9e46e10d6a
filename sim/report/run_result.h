// RunResult: all that a report says of one simulated run. The runner fills it in, the report only reads it.
//
//   runner --RequestRecords--> RequestTally --+
//          --gaps of tokens--> GapHistogram --+--> RunResult --> summary, summary.json, trace.json, report.html
//          --ranks, links, samples, spans ----+
//
// Plain values. What a run does not have stays empty and is left out of the reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ids.h"
#include "runtime/time.h"
#include "sim/cost/cost_model.h"
#include "sim/report/gap_histogram.h"
#include "sim/report/request_tally.h"

namespace baton::sim {

// What one rank did from the start to the end of the run.
struct RankUse {
  RankId rank;
  std::uint32_t gpus = 1;
  Duration busy{0};  // in steps
  std::uint64_t steps = 0;
  std::uint64_t prompt_tokens = 0;  // computed, cached ones not among them
  std::uint64_t output_tokens = 0;
  std::uint32_t pages = 0;  // of its pool
  std::uint32_t pages_used_max = 0;
  std::optional<double> usd_per_gpu_hour;
};

// What one link carried.
struct LinkUse {
  std::string name;
  double bytes_per_s = 0.0;  // capacity
  double bytes = 0.0;        // carried
  Duration in_use{0};        // time with at least one transfer on it
};

// The state of the cluster at one instant; shares are those since the last sample. Some thousands make good curves.
struct ClusterSample {
  TimePoint time{};
  std::uint32_t waiting_prefill = 0;    // requests without a first step, those that wait for decode's pages among them
  std::uint32_t computing_prefill = 0;  // requests whose prompt is being computed
  std::uint32_t in_transfer = 0;        // requests whose keys and values are under way
  std::uint32_t waiting_decode = 0;     // arrived, not in a batch
  std::uint32_t running_decode = 0;     // in a batch
  double prefill_busy = 0.0;            // share of the prefill ranks' time, 0 to 1
  double decode_busy = 0.0;
  double links_busy = 0.0;  // share of the NICs' capacity
  double pages_used = 0.0;  // share of the decode ranks' pages
};

// A line of the Perfetto trace, and one bar on it. `kind` groups the lines: prefill, link, decode.
enum class TrackKind : std::uint8_t { prefill, link, decode };

struct Track {
  TrackKind kind = TrackKind::prefill;
  std::string name;  // "prefill/0", "prefill/0 to decode/3"
};

struct TrackSpan {
  std::uint32_t track = 0;  // index in RunResult::tracks
  const char* name = "";    // a string literal: "step", "transfer"
  TimePoint begin{};
  Duration length{0};
  std::uint64_t id = 0;      // of the request, where it concerns one
  std::uint64_t amount = 0;  // tokens of a step, bytes of a transfer
};

// Bars that one trace keeps; a runner that has more leaves out the later ones and counts them.
inline constexpr std::size_t kSpansMax = 500'000;

struct RunResult {
  std::string version;             // of the program
  std::string trace_name;          // of the request trace
  std::string cluster_name;        //
  std::string configuration;       // effective, as TOML
  std::string configuration_hash;  // hexadecimal
  std::uint64_t seed = 0;

  TimePoint began{};      // the first arrival, in virtual time
  Duration simulated{0};  // from there to the last end
  double wall_s = 0.0;    // real time it took

  RequestTally requests;
  GapHistogram gaps;

  std::vector<RankUse> ranks;
  std::vector<LinkUse> links;
  double network_bytes = 0.0;        // of transfers that arrived
  double network_bytes_ahead = 0.0;  // of them, gone while steps computed (layer-wise streaming)
  std::vector<ClusterSample> samples;

  // Time of steps over all ranks, by where their cost came from.
  std::array<Duration, kCostLayers> by_layer{};
  Duration extrapolated{0};   // the part outside a measured grid
  Duration communication{0};  // the part spent in collectives

  std::vector<Track> tracks;
  std::vector<TrackSpan> spans;
  std::uint64_t spans_left_out = 0;

  std::vector<std::string> warnings;  // for people: "KV capacity was derived, not given"
};

}  // namespace baton::sim
