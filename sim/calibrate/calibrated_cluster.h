// A cluster file for the server whose step log was fitted: the same pools and limits, with the law in place of the
// engine. What `baton sim --calibrate` writes.
#pragma once

#include <map>
#include <string>

#include "sim/calibrate/fit_law.h"
#include "sim/calibrate/step_log.h"

namespace baton::sim {

// TOML that read_cluster() takes. Throws Error(invalid_argument) naming the setting that the log lacks.
std::string calibrated_cluster(const StepLog& log, const std::map<Role, LawFit>& fits);

// What a server's log must carry as settings.
inline constexpr const char* kClusterSettings[] = {"mode",  "prefill", "decode",    "page_tokens", "kv_tokens",
                                                   "chunk", "running", "lookahead", "prefix_cache"};

}  // namespace baton::sim
