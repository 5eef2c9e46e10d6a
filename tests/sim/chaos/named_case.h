// Named cases: faults that users of other runtimes met in production, each as a scenario of a few lines.
//
// A case throws when what must hold does not. It runs in two programs: test_cases on the libraries that serve, and
// test_mutants on those whose protections can be taken out, where every mutant must make some case fail.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "sim/chaos/run.h"
#include "sim/chaos/scenario.h"

namespace baton::chaos {

struct NamedCase {
  const char* name;    // "T1: a page is not given out while an aborted write may land", unique
  const char* source;  // where users met it: "sglang#24527", "dynamo#13088", ...
  void (*check)();     // throws CaseFailed
};

class CaseFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void expect(bool holds, const std::string& what) {
  if (!holds) {
    throw CaseFailed(what);
  }
}

// Runs it; a broken rule fails the case.
RunReport play(const Scenario& scenario, RunOptions options = {});

// A small quiet world: one router, 1 prefill and 1 decode rank, arenas apart, heartbeats off, pages of 4 positions,
// chunks of 16 tokens, a step 0.2 ms and 10 us a row, a write 20 us.
Scenario quiet_world(std::uint32_t prefill = 1, std::uint32_t decode = 1);

// Adds a client and returns its plan: arrives `at`, one second to live.
ClientPlan& add_client(Scenario& scenario, Duration at, std::uint32_t prompt_tokens, std::uint32_t max_tokens);

// The lists, one a file.
std::vector<NamedCase> memory_cases();
std::vector<NamedCase> prefix_cases();
std::vector<NamedCase> completion_cases();
std::vector<NamedCase> ends_cases();
std::vector<NamedCase> identity_cases();
std::vector<NamedCase> output_cases();
std::vector<NamedCase> admission_cases();
std::vector<NamedCase> lives_cases();
std::vector<NamedCase> peer_leak_cases();
std::vector<NamedCase> peer_wait_cases();
std::vector<NamedCase> peer_failure_cases();
std::vector<NamedCase> peer_output_cases();
std::vector<NamedCase> peer_api_cases();
std::vector<NamedCase> peer_reserve_cases();

std::vector<NamedCase> all_named_cases();

}  // namespace baton::chaos
