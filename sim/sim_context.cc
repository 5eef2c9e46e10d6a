#include "sim/sim_context.h"

#include <algorithm>
#include <vector>

#include "runtime/op.h"
#include "runtime/stable_order.h"

namespace baton {

SimContext::~SimContext() {
  destroy_coroutines();
  {
    const Inside inside(*this);
    asio_context_.end();
  }
  destroy_coroutines();
  close_remote();
}

void SimContext::run() {
  const Inside inside(*this);
  while (step_before(kNever)) {
  }
}

void SimContext::run_until(TimePoint time) {
  const Inside inside(*this);
  while (step_before(time)) {
  }
  now_ = std::max(now_, time);
}

bool SimContext::step() {
  const Inside inside(*this);
  return step_before(kNever);
}

// What other threads send is let in only when nothing is runnable, and then all that is owed at once: an answer that
// came early would run before its neighbours or after them as the machine pleases.
bool SimContext::step_before(TimePoint limit) {
  if (run_one()) {
    return true;
  }
  if (errands_out() > 0 && live() > 0) {
    bring_errands_home();
    return true;
  }
  take_remote();
  if (run_one()) {
    return true;
  }
  if (timers().empty() || timers().next_time() > limit) {
    return false;
  }
  now_ = std::max(now_, timers().next_time());
  expire_front();
  return true;
}

// Blocks the thread until every completion owed has arrived, so that neither the clock nor the order of events depends
// on how fast other threads are.
void SimContext::bring_errands_home() {
  std::vector<Op*> arrived;
  std::size_t errands = 0;
  while (errands < errands_out()) {
    OpQueue queue = remote()->take();
    while (Op* op = queue.pop()) {
      errands += op->errand_order > 0 ? 1 : 0;
      arrived.push_back(op);
    }
    if (errands < errands_out() && remote()->prepare_sleep()) {
      remote()->wait_for_bell();
      remote()->awake();
    }
  }
  const auto earlier = [&](std::size_t a, std::size_t b) {
    return arrived[a]->errand_order < arrived[b]->errand_order;
  };
  for (const std::size_t index : stable_order(arrived.size(), earlier)) {
    push_ready(arrived[index]);
  }
}

}  // namespace baton
