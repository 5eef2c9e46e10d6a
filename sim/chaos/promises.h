// What a scenario promises its clients: pure functions of the plan, so that a world can hold the roles to it.
#pragma once

#include "sim/chaos/scenario.h"

namespace baton::chaos {

enum class Promise : std::uint8_t {
  an_end,   // some end, in time, with a cause
  success,  // nothing in the scenario can make it fail
  refusal,  // it can never fit: too_large, at once
};

Promise promise_of(const Scenario& scenario, const ClientPlan& plan);

// When a request with that deadline has ended at the latest: at once, or when the front that stood still goes on.
TimePoint latest_end(const Scenario& scenario, TimePoint deadline);

// Nothing that happens keeps a leg from hearing soon that its room is over.
bool ends_are_prompt(const Scenario& scenario);

// Both legs hear of every end, late or not: what remains then is repeated until it is answered.
bool ends_are_heard(const Scenario& scenario);

// No rank loses its memory of what it was told.
bool memories_last(const Scenario& scenario);

}  // namespace baton::chaos
