#include "tests/sim/parity/conductor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace baton::sim {
namespace {

constexpr auto kLook = std::chrono::microseconds(20);  // how often it looks whether all sleep

std::string text_of(const Turn& turn) {
  switch (turn.kind) {
    case Turn::Kind::arrival:
      return "the next request";
    case Turn::Kind::step:
      return to_string(turn.rank) + "'s step";
    case Turn::Kind::write:
      return fmt::format("{}'s write of room {}", to_string(turn.rank), to_string(turn.room));
  }
  return "";
}

}  // namespace

void Conductor::step_began(RankId rank) {
  const std::lock_guard lock(mutex_);
  in_step_.insert(rank);
}

Task<> Conductor::may_end_step(RankId rank) {
  return wait_for_turn({rank, RoomId{}});
}

Task<> Conductor::may_write(RankId from, RoomId room) {
  return wait_for_turn({from, room});
}

Task<> Conductor::wait_for_turn(Place place) {
  Context& context = *Context::current();
  Pulse turn(context, "turn");
  {
    const std::lock_guard lock(mutex_);
    if (over_) {
      turn.notify();
    } else {
      waiting_[place] = {&context, &turn};
    }
    changed_.notify_all();
  }
  co_await turn.wait();
}

void Conductor::release(const Waiting& waiting) {
  waiting.context->post([turn = waiting.turn] { turn->notify(); });
}

std::optional<std::string> Conductor::conduct(std::span<const Turn> turns, std::span<RealContext* const> contexts,
                                              const std::function<void()>& arrive) {
  contexts_ = contexts;
  std::optional<std::string> difference = play(turns, arrive);
  const std::lock_guard lock(mutex_);
  over_ = true;
  for (const auto& [place, waiting] : waiting_) {
    release(waiting);
  }
  return difference;
}

std::optional<std::string> Conductor::play(std::span<const Turn> turns, const std::function<void()>& arrive) {
  std::unique_lock lock(mutex_);
  wait_until_all_sleep(lock);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].kind == Turn::Kind::arrival) {
      arrive();
    } else if (!take(lock, turns[i])) {
      return fmt::format("nobody wants turn {}: {}", i + 1, text_of(turns[i]));
    }
    wait_until_all_sleep(lock);
  }
  if (!in_step_.empty() || !waiting_.empty()) {
    return fmt::format("{} ranks compute and {} wait after the last turn", in_step_.size(), waiting_.size());
  }
  return std::nullopt;
}

// False: nobody has come for it, and nothing happens that could change it.
bool Conductor::take(std::unique_lock<std::mutex>& lock, const Turn& turn) {
  const Place place{turn.rank, turn.room};
  while (turn.kind == Turn::Kind::step && in_step_.contains(turn.rank) && !waiting_.contains(place)) {
    changed_.wait(lock);
  }
  const auto found = waiting_.find(place);
  if (found == waiting_.end()) {
    return false;
  }
  if (turn.kind == Turn::Kind::step) {
    in_step_.erase(turn.rank);
  }
  release(found->second);
  waiting_.erase(found);
  return true;
}

void Conductor::wait_until_all_sleep(std::unique_lock<std::mutex>& lock) {
  while (!all_sleep()) {
    changed_.wait_for(lock, kLook);
  }
}

// Everybody is looked at twice and found in the same sleep: they all slept in the moment between. Who then wakes by a
// timer or a computed step is in a step and comes to its gate.
bool Conductor::all_sleep() const {
  const auto naps = [this] {
    std::vector<std::optional<std::uint64_t>> all;
    for (const RealContext* context : contexts_) {
      all.push_back(context->nap());
    }
    return all;
  };
  const auto first = naps();
  return std::ranges::all_of(first, [](const auto& nap) { return nap.has_value(); }) && first == naps();
}

}  // namespace baton::sim
