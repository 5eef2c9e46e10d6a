// replay(): one scenario once more, with its history, in a process of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/explorer/finding.h"

namespace baton::chaos {

struct ReplayOptions {
  std::optional<std::uint32_t> request;  // whose timeline; without it that of the finding, or else all requests'
  std::function<std::string(std::vector<TraceEvent>)> render;  // makes Replay::rendered of its events; may be empty
  std::chrono::nanoseconds limit = std::chrono::seconds(60);
};

struct Replay {
  std::optional<Finding> finding;
  std::optional<std::uint32_t> request;  // whose timeline it is
  std::string summary;                   // requests, faults, digest; empty where the process died
  std::string timeline;                  // likewise
  std::string rendered;                  // likewise
};

Replay replay(const Scenario& scenario, const RunFunction& run, const ReplayOptions& options);

}  // namespace baton::chaos
