// One client of a world under exploration: asks, takes its events, gives up if that is its nature, and checks what it
// was promised: one end, in time, and no token that is not the reference's.
#pragma once

#include <cstdint>
#include <vector>

#include "roles/router.h"
#include "runtime/context.h"
#include "runtime/task.h"
#include "sim/chaos/chronicle.h"
#include "sim/chaos/promises.h"
#include "sim/chaos/report.h"
#include "sim/chaos/scenario.h"

namespace baton::chaos {

// What a client needs. All of it outlives the client's task.
struct ClientParts {
  Context& context;  // the front's
  const Scenario& scenario;
  Chronicle& chronicle;
  ClientOutcome& outcome;
};

struct ClientOrder {
  ClientPlan plan;
  GenerationRequest request;
  std::vector<TokenId> expected;  // of a run without faults; the stop token, if any, left out
  Promise promise = Promise::an_end;
};

Task<> run_client(ClientParts parts, Router& router, ClientOrder order);

}  // namespace baton::chaos
