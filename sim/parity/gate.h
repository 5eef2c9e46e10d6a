// Where ranks wait before the outside world acts on them: before they take in a step that an engine has ended, and
// before pages are written. Whoever implements it knows, or decides, the order of these moments.
#pragma once

#include "runtime/ids.h"
#include "runtime/task.h"

namespace baton::sim {

// Called on the contexts of ranks.
class Gate {
 public:
  virtual ~Gate() = default;

  virtual void step_began(RankId rank) = 0;
  // Completes when the rank may take in the step.
  virtual Task<> may_end_step(RankId rank) = 0;
  // Completes when the write of these pages may happen.
  virtual Task<> may_write(RankId from, RoomId room) = 0;
};

}  // namespace baton::sim
