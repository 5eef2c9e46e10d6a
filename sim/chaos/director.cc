// What happens in a world, and when: clients and faults, then the mending, the draining and the last requests.
#include <fmt/format.h>

#include "runtime/sleep.h"
#include "sim/chaos/world.h"

namespace baton::chaos {
namespace {

constexpr Duration kDrainTime = std::chrono::seconds(60);  // until the last deadline
constexpr Duration kHealTime = std::chrono::seconds(20);   // until the longest pause before a repetition has passed
constexpr Duration kDrainPoll = std::chrono::milliseconds(5);
constexpr Duration kRestartTime = std::chrono::milliseconds(3);  // of a rank that was given up
constexpr std::uint32_t kProbes = 4;
constexpr std::uint64_t kOrderlyEnds = 4;  // one seed in so many
constexpr std::uint32_t kLastClients = 6;
constexpr Duration kLastPause = std::chrono::microseconds(250);  // between their arrivals
constexpr std::uint32_t kFirstOwn = 1000;                        // the director's clients: after all the scenario's

}  // namespace

Task<> World::direct() {
  {
    Scope scope(front_, "clients");
    for (const ClientPlan& plan : scenario_.clients) {
      scope.spawn("client", client(order(plan)));
    }
    co_await scope.join();
  }
  while (faults_open_ > 0) {
    co_await fault_over_.wait();
  }
  mend();
  co_await drain("after the faults");
  co_await probe();
  co_await drain("in the end");
  co_await stop();
  over_ = true;
}

// An orderly end, in which every loop must return, half of the time with requests under way. It costs a dozen
// exceptions, so only some seeds take it; the others are torn down where they stand.
Task<> World::stop() {
  if (scenario_.seed % kOrderlyEnds != 0) {
    co_return;
  }
  Scope scope(front_, "last clients");
  if (scenario_.seed % (2 * kOrderlyEnds) == 0) {
    for (std::uint32_t i = 0; i < kLastClients; ++i) {
      ClientPlan plan = own_plan(kProbes + i, 10 + 8 * i, 8);
      plan.arrival += i * kLastPause;
      ClientOrder what = order(plan);
      what.promise = Promise::an_end;
      scope.spawn("client", client(std::move(what)));
    }
  }
  scope.spawn("end", end_ranks());
  co_await scope.join();
}

Task<> World::end_ranks() {
  co_await sleep_until(front_, front_.now() + kLastClients * kLastPause);
  node_->stop_ranks();
  for (auto& [id, rank] : ranks_) {
    while (rank->scope && rank->scope->live() > 0) {
      co_await sleep_until(front_, front_.now() + kDrainPoll);
    }
  }
  for (std::uint32_t i = 0; i < scenario_.routers; ++i) {
    co_await node_->router(i).drain(front_.now());
    node_->router(i).stop();
  }
}

// The request of a client that the director sends itself, now.
ClientPlan World::own_plan(std::uint32_t nth, std::uint32_t prompt_tokens, std::uint32_t max_tokens) const {
  ClientPlan plan;
  plan.index = kFirstOwn + nth;
  plan.router = nth % scenario_.routers;
  plan.arrival = front_.now() - TimePoint{};
  plan.prompt_tokens = prompt_tokens;
  plan.max_tokens = max_tokens;
  plan.time_limit = std::chrono::seconds(2);
  return plan;
}

Task<> World::client(ClientOrder what) {
  const ClientParts parts{front_, scenario_, chronicle_, outcomes_[what.plan.index]};
  Router& router = node_->router(what.plan.router % scenario_.routers);
  return run_client(parts, router, std::move(what));
}

// On a context of its own, which no fault stops.
Task<> World::play(TimedFault fault) {
  co_await sleep_until(fate_, TimePoint{} + fault.at);
  begin_fault(fault);
  co_await sleep_until(fate_, fate_.now() + fault.length);
  end_fault(fault);
  front_.post([this] {
    --faults_open_;
    fault_over_.notify();
  });
}

void World::begin_fault(const TimedFault& fault) {
  const auto found = ranks_.find(fault.rank);
  const bool front = fault.fault == Fault::freeze && fault.rank.role == Role::router;
  if (fault.fault != Fault::partition && !front && found == ranks_.end()) {
    return;  // a smaller world does not have the rank
  }
  chronicle_.injected({0, fault.fault, fate_.now(), std::nullopt, fault.rank, fault.to});
  switch (fault.fault) {
    case Fault::crash:
      return crash(fault.rank);
    case Fault::freeze:
      return (front ? front_ : found->second->context).freeze(true);
    case Fault::partition:
      return network_.cut(fault.rank, fault.to, true);
    case Fault::slow:
      return found->second->engine->slow(true);
    case Fault::step_failed:
      return found->second->engine->fail_steps(true);
    default:
      return;
  }
}

void World::end_fault(const TimedFault& fault) {
  const auto found = ranks_.find(fault.rank);
  if (fault.fault == Fault::partition) {
    return network_.cut(fault.rank, fault.to, false);
  }
  if (fault.fault == Fault::freeze && fault.rank.role == Role::router) {
    return front_.freeze(false);
  }
  if (found == ranks_.end()) {
    return;
  }
  Rank& rank = *found->second;
  switch (fault.fault) {
    case Fault::crash:
      return bring_up(fault.rank);
    case Fault::freeze:
      return rank.context.freeze(false);
    case Fault::slow:
      return rank.engine->slow(false);
    case Fault::step_failed:
      return rank.engine->fail_steps(false);
    default:
      return;
  }
}

// The process is gone at once, in the middle of whatever it did.
void World::crash(RankId id) {
  Rank& rank = *ranks_.at(id);
  if (!rank.up) {
    return;
  }
  rank.up = false;
  rank.context.freeze(false);
  network_.set_dead(id, true);
  wires_.writer_dies(node_->peer(id));
  rank.context.destroy_coroutines();
  ledger_.rank_down(id);
  node_->crash(id);
  rank.endpoint.reset();
  rank.scope.reset();
}

void World::bring_up(RankId id) {
  Rank& rank = *ranks_.at(id);
  if (!rank.up) {
    network_.set_dead(id, false);
    node_->restart(id);
    start_rank(id);
  }
}

// A rank that has heard that it was given up ends, as a process would, and its supervisor starts another.
void World::supervise() {
  condemned_ = false;
  for (auto& [id, rank] : ranks_) {
    if (rank->condemned && rank->up) {
      rank->condemned = false;
      crash(id);
      fate_scope_.spawn("restart", replace(id));
    }
  }
}

Task<> World::replace(RankId id) {
  co_await sleep_until(fate_, fate_.now() + kRestartTime);
  bring_up(id);
}

void World::mend() {
  network_.calm_down();
  for (auto& [id, rank] : ranks_) {
    rank->context.freeze(false);
    rank->engine->calm_down();
    bring_up(id);
  }
}

// Everything must come back by itself: rooms, pages, transfers, open requests.
Task<> World::drain(const char* when) {
  const Duration longest = ends_are_heard(scenario_) ? kHealTime : kDrainTime;
  const TimePoint limit = front_.now() + longest;
  while (!node_->drained()) {
    if (front_.now() > limit) {
      std::string left;
      for (const RankId rank : node_->ranks()) {
        const KvPool* pool = node_->pool(rank);
        if (!node_->drained(rank)) {
          left += fmt::format(" {} ({} leased, {} quarantined)", to_string(rank), pool ? pool->leased() : 0,
                              pool ? pool->quarantined() : 0);
        }
      }
      chronicle_.blame("drained", fmt::format("{} {} s later something is left at:{}", when,
                                              std::chrono::duration_cast<std::chrono::seconds>(longest).count(),
                                              left.empty() ? " a router" : left));
      co_return;
    }
    co_await sleep_until(front_, front_.now() + kDrainPoll);
  }
}

// Whatever happened, the deployment serves again: one request after the other, so that no bound is in the way.
Task<> World::probe() {
  // Heartbeats of ranks that were replaced last may still wait behind a message that was delayed before the mending.
  const Duration heard = 2 * scenario_.heartbeat + 2 * scenario_.latency + scenario_.delay_max + kRestartTime;
  co_await sleep_until(front_, front_.now() + heard);
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    ClientOrder what = order(own_plan(i, 9 + 3 * i, 4));
    what.promise = Promise::success;
    co_await client(std::move(what));
  }
}

}  // namespace baton::chaos
