#include "sim/sim_clock.h"

#include <algorithm>
#include <optional>

#include <boost/asio/detail/call_stack.hpp>
#include <boost/asio/detail/thread_context.hpp>
#include <boost/asio/detail/thread_info_base.hpp>

#include "sim/sim_context.h"

namespace baton {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeep = false;  // a stale pointer shall be seen
#elif defined(__has_feature)
constexpr bool kKeep = !__has_feature(address_sanitizer);
#else
constexpr bool kKeep = true;
#endif

}  // namespace

// Where Asio keeps the last frames and cancellation handlers of the thread that steps, as it does for the threads of
// its own io_context; without it each await is an allocation or two.
struct SimClock::AsioMemory final : boost::asio::detail::thread_context {
  // While it lives this thread uses the memory.
  class InUse final {
   public:
    explicit InUse(AsioMemory& memory) : place_(&memory, memory.blocks_) {}

   private:
    thread_call_stack::context place_;
  };

 private:
  boost::asio::detail::thread_info_base blocks_;
};

SimClock::SimClock() : asio_memory_(std::make_unique<AsioMemory>()) {}

SimClock::~SimClock() = default;

bool SimClock::step(TimePoint limit) {
  std::optional<AsioMemory::InUse> in_use;
  if (kKeep) {
    in_use.emplace(*asio_memory_);
  }
  if (run_next()) {
    return true;
  }
  // What other threads or other contexts have sent is let in only when nothing is runnable, and then all that is owed
  // at once: an answer that came early would run before its neighbours or after them as the machine pleases.
  if (let_others_in()) {
    return true;
  }
  SimContext* sleeper = earliest_sleeper();
  if (sleeper == nullptr || sleeper->next_timer() > limit) {
    return false;
  }
  now_ = std::max(now_, sleeper->next_timer());
  sleeper->wake_first();
  return true;
}

// The context whose turn it is goes on; when it has nothing left the next one that has something gets the turn.
bool SimClock::run_next() {
  SimContext* const* contexts = contexts_.data();
  const std::size_t count = contexts_.size();
  std::size_t turn = turn_;
  for (std::size_t tried = 0; tried < count; ++tried) {
    if (contexts[turn]->can_run()) {
      turn_ = turn;
      contexts[turn]->run_one_op();
      return true;
    }
    turn = turn + 1 < count ? turn + 1 : 0;
  }
  return false;
}

bool SimClock::let_others_in() {
  bool any = false;
  for (SimContext* context : contexts_) {
    if (context->door_rang()) {
      any = context->let_in() || any;
    }
  }
  return any;
}

SimContext* SimClock::earliest_sleeper() const {
  SimContext* first = nullptr;
  TimePoint earliest = kNever;
  for (SimContext* context : contexts_) {
    if (const TimePoint time = context->next_timer(); time < earliest) {
      earliest = time;
      first = context;
    }
  }
  return first;
}

void SimClock::run_until(TimePoint time) {
  while (step(time)) {
  }
  now_ = std::max(now_, time);
}

bool SimClock::deadlocked() const {
  return std::ranges::any_of(contexts_, [](const SimContext* context) { return context->live() > 0; }) &&
         std::ranges::none_of(contexts_, [](const SimContext* context) { return context->can_go_on(); });
}

std::string SimClock::wait_report() const {
  std::string text;
  for (const SimContext* context : contexts_) {
    text += (context->name().empty() ? "" : context->name() + ": ") + context->wait_report();
  }
  return text;
}

}  // namespace baton
