// Scenario: everything that a run of the explorer depends on, as one plain value. Drawn from a seed, read from a
// script, or made smaller by the shrinker; the same scenario gives the same events to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ids.h"
#include "runtime/time.h"
#include "sim/chaos/fault.h"

namespace baton::chaos {

// One client and its request. The prompt's tokens follow from the index and the scenario's seed.
struct ClientPlan {
  std::uint32_t index = 0;  // its name in reports; stays when others are left out
  Duration arrival{0};
  std::uint32_t router = 0;
  std::uint32_t prompt_tokens = 1;
  std::uint32_t family = 0;         // whose text the prompt begins with,
  std::uint32_t shared_tokens = 0;  // and how far
  std::uint32_t max_tokens = 1;
  Duration time_limit = std::chrono::milliseconds(500);
  std::optional<std::uint32_t> stop_after;  // a stop token is set so that the output ends with that many tokens
  std::optional<Duration> patience;         // gives up so long after arrival
  bool vanishes = false;                    // gives up by destroying the generation, without asking to end
  friend bool operator==(const ClientPlan&, const ClientPlan&) = default;
};

// A fault of a rank or of a way between two, from `at` on for `length`.
struct TimedFault {
  Fault fault = Fault::freeze;  // crash, freeze, partition, slow, step_failed (every step)
  RankId rank{};                // a router's freeze is that of the front: of all routers, and of the clients on it
  RankId to{};                  // partition: the other end of the way
  Duration at{0};
  Duration length{0};
  friend bool operator==(const TimedFault&, const TimedFault&) = default;
};

// A fault of one message or write, named by what it is: the nth of its kind (from 0) that concerns the request; of
// heartbeats and the like, which concern none, the nth in the world.
struct ScriptedFault {
  Traffic traffic = Traffic::job;
  std::optional<std::uint32_t> request;
  std::uint32_t nth = 0;
  Fault fault = Fault::control_lost;
  Duration delay{0};  // where the fault takes time
  friend bool operator==(const ScriptedFault&, const ScriptedFault&) = default;
};

struct Scenario {
  std::uint64_t seed = 0;  // of message faults, prompts, ids
  // the node
  std::uint32_t routers = 1;
  std::uint32_t prefill = 2;
  std::uint32_t decode = 2;
  bool copying = true;
  bool aggregated = false;
  bool prefix_cache = false;
  std::uint32_t page_tokens = 4;
  std::uint32_t decode_pages = 64;
  std::uint32_t prefill_pages = 64;
  std::uint32_t chunk_tokens = 16;
  std::uint32_t running_max = 16;
  std::uint32_t waiting_max = 64;
  std::uint32_t rooms_max = 64;
  std::uint32_t open_max = 64;
  std::uint32_t lookahead_tokens = 8;
  std::uint32_t retract_every = 0;
  bool recompute = false;     // what retracted requests had is computed again instead of copied to the host and back
  bool latest_first = false;  // the latest of the batch are retracted, instead of those who lose least
  bool plan_ahead = false;    // decode steps are made up while the ones before them run
  Duration heartbeat = std::chrono::milliseconds(20);  // zero: no membership
  Duration latency{0};                                 // of every message, at most; zero: none
  // what happens
  std::vector<ClientPlan> clients;
  std::vector<TimedFault> timed;
  MessageRates control;
  MessageRates notice;
  WriteRates write;
  Duration delay_max = std::chrono::milliseconds(5);
  std::vector<ScriptedFault> script;               // besides those that the rates give
  std::optional<std::vector<std::uint64_t>> only;  // message faults are restricted to these keys, ascending
  friend bool operator==(const Scenario&, const Scenario&) = default;
};

// Whether the scenario's node has that rank or router.
bool has_rank(const Scenario& scenario, RankId rank);

}  // namespace baton::chaos
