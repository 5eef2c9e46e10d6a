// Finding: what is wrong with a seed, also where the program did not live to say so itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/chaos/run.h"

namespace baton::chaos {

// Rules that the explorer itself finds broken, beside those of a RunReport.
inline constexpr const char* kAbortRule = "abort";      // a check failed, a signal, an exception that nobody took
inline constexpr const char* kEndlessRule = "endless";  // the run took more real time than any run does

struct Finding {
  std::string rule;
  std::string message;
  std::string place;                     // abort: the file and line of the check, or the signal; else empty
  std::optional<std::uint32_t> request;  // ClientPlan::index
};

// Whether two findings are, as far as can be told, the same bug.
inline bool same_bug(const Finding& a, const Finding& b) {
  return a.rule == b.rule && a.place == b.place;
}

using RunFunction = std::function<RunReport(const Scenario&, RunOptions)>;
using DrawFunction = std::function<Scenario(std::uint64_t seed)>;

}  // namespace baton::chaos
