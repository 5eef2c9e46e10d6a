#include "sim/sim_context.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/op.h"
#include "runtime/stable_order.h"

namespace baton {

SimContext::SimContext() : own_clock_(std::make_unique<SimClock>()), clock_(*own_clock_) {
  clock_.contexts_.push_back(this);
}

SimContext::SimContext(SimClock& clock, std::string name) : clock_(clock), name_(std::move(name)) {
  clock_.contexts_.push_back(this);
}

SimContext::~SimContext() {
  std::erase(clock_.contexts_, this);
  clock_.turn_ = 0;
  destroy_coroutines();
  {
    const Inside inside(*this);
    asio_context_.end();
  }
  destroy_coroutines();
  close_remote();
}

void SimContext::run() {
  while (clock_.step()) {
  }
}

void SimContext::run_one_op() {
  const Inside inside(*this);
  run_one();
}

bool SimContext::let_in() {
  if (errands_out() > 0 && live() > 0) {
    const Inside inside(*this);
    bring_errands_home();
    return true;
  }
  take_remote();
  return !idle();
}

bool SimContext::can_go_on() const noexcept {
  const bool expects = !idle() || !timers().empty() || errands_out() > 0;
  return expects && !frozen_;
}

void SimContext::wake_first() {
  const Inside inside(*this);
  expire_front();
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
