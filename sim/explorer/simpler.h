// Steps that make a scenario simpler, for the shrinker: each a small change that may keep the bug.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/chaos/scenario.h"

namespace baton::chaos {

bool has_message_faults(const Scenario& scenario);
void clear_message_faults(Scenario& scenario);
const std::vector<double* (*)(Scenario&)>& message_rates();  // all of them

// Sets the number of routers, prefill or decode ranks; clients of a router that is gone go to one that is there, timed
// faults of ranks that are gone are dropped.
void set_ranks(Scenario& scenario, std::uint32_t Scenario::* count, std::uint32_t ranks);

// Each puts one setting back to what a fresh Scenario has, or turns one thing off.
const std::vector<void (*)(Scenario&)>& simpler_settings();
const std::vector<void (*)(ClientPlan&)>& simpler_client();

}  // namespace baton::chaos
