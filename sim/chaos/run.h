// run_scenario(): one run of the explorer, from the first request to the last page back.
#pragma once

#include "sim/chaos/report.h"
#include "sim/chaos/scenario.h"

namespace baton::chaos {

struct WorldModel;

struct RunOptions {
  bool keep_history = false;          // fills RunReport::history and rooms
  const WorldModel* model = nullptr;  // null: the toy model
};

// Runs the world on this thread, in virtual time, and checks every rule at every step. Broken rules are in the report;
// a bug that stops the program (BATON_CHECK) does so: who must survive it runs this in a process of its own.
RunReport run_scenario(const Scenario& scenario, RunOptions options = {});

}  // namespace baton::chaos
