// explore(): runs many seeds in forked workers and stops at the first that fails.
//
//   Board.take() --index--> worker: draw, run, tally --counts, finding--> Board <--reads-- parent: progress, watchdog
//
// The failure found is the lowest failing seed of those that were begun: seeds below it are finished first, so that
// the same command finds the same seed on every machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/explorer/finding.h"
#include "sim/explorer/tally.h"

namespace baton::chaos {

struct ExploreOptions {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1;  // first + seeds - 1 is a number of 64 bits
  unsigned jobs = 1;
  std::chrono::nanoseconds seed_limit = std::chrono::seconds(60);  // of real time; more is "endless"
  bool digests = false;
  std::function<void(const Tally&)> progress;  // called ten times a second or less; may be empty
};

struct Exploration {
  Tally tally;
  std::optional<Finding> finding;
  std::uint64_t seed = 0;              // of the finding
  bool interrupted = false;            // Ctrl-C; the seeds below the finding may not all have run then
  std::vector<std::uint64_t> digests;  // from the first seed on, as many as are known without a gap
};

// Throws std::system_error where the machine gives no process or memory.
Exploration explore(const ExploreOptions& options, const DrawFunction& draw, const RunFunction& run);

}  // namespace baton::chaos
