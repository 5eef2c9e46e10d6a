// Profile: which kinds of faults a run may meet, and how often. A scenario is drawn from a profile and a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/chaos/fault.h"
#include "sim/chaos/scenario.h"

namespace baton::chaos {

struct Profile {
  const char* name = "";
  const char* what = "";  // one line for --help
  // Chances that a run has faults of a group at all; how often then is drawn too.
  double messages = 0;         // control messages and notices: lost, delayed, overtaken, duplicated
  double writes = 0;           // of pages: failed, late, torn, unheard
  double crashes = 0;          // crash and restart, freeze, partition
  double slowness = 0;         // slow ranks, failing steps
  double impatience = 0;       // clients that give up
  double scarcity = 0;         // pools, queues and places that run out; refusals
  double shared = 0;           // ranks of one process that share memory, or one that does both
  std::vector<Fault> without;  // kinds that are left out, as --without says
};

// calm, network, writes, crashes, clients, scarcity, and all, the usual one.
const std::vector<Profile>& profiles();
std::optional<Profile> find_profile(std::string_view name);

// The scenario of a seed. The standard world: 2 prefill and 2 decode ranks, 30 requests.
Scenario draw_scenario(const Profile& profile, std::uint64_t seed);

}  // namespace baton::chaos
