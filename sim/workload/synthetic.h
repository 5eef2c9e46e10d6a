// Requests made up by a SyntheticSpec: conversations that begin by an arrival process and go on in closed loop.
//
//   turn 0   | group's prefix | input |            -> output
//   turn 1   | group's prefix | input | output | input |  -> output      after the end of turn 0 and a pause
//
// The blocks of a conversation name its text from the first token on, so turns share what came before, and
// conversations of one group their prefix. One seed, one load: what one conversation draws does not depend on the
// others.
#pragma once

#include <memory>

#include "sim/workload/row_source.h"
#include "sim/workload/synthetic_spec.h"

namespace baton::sim {

// Throws what reading spec.lengths throws.
std::unique_ptr<RowSource> synthetic_rows(const SyntheticSpec& spec);

}  // namespace baton::sim
