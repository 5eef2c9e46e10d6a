// Who is touched by what has changed, and what rates they get: the search and the progressive filling.
#include <algorithm>
#include <limits>

#include "runtime/check.h"
#include "sim/network/fluid.h"

namespace baton::sim {
namespace {

// A link counts as never full when its flows at their highest rates just fill it, but for rounding.
constexpr double kSlack = 1.0 + 1e-12;

// Rates that differ by less are the same: far below what counts, far above what doubles round away.
constexpr double kSame = 1e-12;

// Then everybody who could be touched at all is taken in at once.
constexpr int kRoundsMax = 16;

bool faster(double rate, double other) noexcept {
  return rate > other * (1.0 + kSame);
}

}  // namespace

// False where even all flows at the speed of their narrowest links leave room: such a link couples nobody.
bool FluidNetwork::may_fill(const Link& link) noexcept {
  return link.demand > link.capacity * kSlack;
}

void FluidNetwork::refresh() {
  if (changed_links_.empty() && changed_flows_.empty()) {
    return;
  }
  start_search();
  for (int round = 1;; ++round) {
    prepare();
    fill();
    if (!meet_unsettled()) {
      break;
    }
    if (round >= kRoundsMax) {
      meet_flows_on(0);
    }
  }
  for (const std::uint32_t slot : touched_flows_) {
    Flow& flow = flows_[slot];
    flow.bottleneck = flow.filled_bottleneck;
    if (flow.filled != flow.rate) {
      settle(flow, now_);
      flow.rate = flow.filled;
      flow.end = end_after(flow);
      heap_move(flow.heap_place);
    }
  }
  changed_links_.clear();
  changed_flows_.clear();
}

// The flows that have come, and all that share a link with one that has come or gone.
void FluidNetwork::start_search() {
  ++round_;
  touched_links_.clear();
  touched_flows_.clear();
  for (const std::uint32_t slot : changed_flows_) {
    if (flows_[slot].heap_place != kNowhere) {  // not cancelled in the same instant
      meet_flow(slot);
    }
  }
  for (const LinkIndex link : changed_links_) {
    meet_link(link);
  }
  const std::size_t changed = touched_links_.size();
  for (std::size_t i = 0; i < changed; ++i) {
    for (const Crossing& crossing : links_[touched_links_[i]].flows) {
      meet_flow(crossing.flow);
    }
  }
}

void FluidNetwork::meet_link(LinkIndex index) {
  Link& link = links_[index];
  if (link.seen != round_) {
    link.seen = round_;
    touched_links_.push_back(index);
  }
}

void FluidNetwork::meet_flow(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (flow.seen == round_) {
    return;
  }
  flow.seen = round_;
  touched_flows_.push_back(slot);
  for (const LinkIndex index : flow.path.links()) {
    if (may_fill(links_[index])) {
      meet_link(index);
    }
  }
}

// Everybody on the links from there on, and on the links that these reach.
void FluidNetwork::meet_flows_on(std::size_t first_link) {
  for (std::size_t next = first_link; next < touched_links_.size(); ++next) {
    for (const Crossing& crossing : links_[touched_links_[next]].flows) {
      meet_flow(crossing.flow);
    }
  }
}

// Room and limits for those who have been met; the others keep what they have. A flow needs a limit of its own only
// where its narrowest link is none of those that are filled.
void FluidNetwork::prepare() {
  limits_.clear();
  for (const LinkIndex index : touched_links_) {
    Link& link = links_[index];
    link.room = link.capacity;
    link.level = link.fastest = 0.0;
    link.held_up = false;
    link.rising = 0;
    for (const Crossing& crossing : link.flows) {
      const Flow& flow = flows_[crossing.flow];
      if (flow.seen == round_) {
        ++link.rising;
      } else {
        link.room -= flow.rate;
      }
    }
    link.room = std::max(0.0, link.room);
    if (link.rising > 0) {
      limits_.push_back({link.room / link.rising, index, false});
    }
  }
  for (const std::uint32_t slot : touched_flows_) {
    Flow& flow = flows_[slot];
    flow.open = !flow.path.empty();
    double narrowest = std::numeric_limits<double>::infinity();
    for (const LinkIndex index : flow.path.links()) {
      if (links_[index].seen == round_) {
        narrowest = std::min(narrowest, links_[index].capacity);
      }
    }
    if (narrowest > flow.cap) {
      limits_.push_back({flow.cap, slot, true});
    }
  }
  std::ranges::make_heap(limits_, before);
}

// Order of the heap: the lowest rate on top.
bool FluidNetwork::before(const Limit& a, const Limit& b) noexcept {
  if (a.rate != b.rate) {
    return a.rate > b.rate;
  }
  return a.of_flow != b.of_flow ? a.of_flow < b.of_flow : a.index > b.index;
}

void FluidNetwork::push_limit(Limit limit) {
  limits_.push_back(limit);
  std::ranges::push_heap(limits_, before);
}

// A link's fair share only grows while others stop below it, so a limit that has grown goes back into the heap.
void FluidNetwork::fill() {
  while (!limits_.empty()) {
    std::ranges::pop_heap(limits_, before);
    const Limit limit = limits_.back();
    limits_.pop_back();
    if (limit.of_flow) {
      stop_rising(limit.index, limit.rate, kNowhere);
      continue;
    }
    Link& link = links_[limit.index];
    if (link.rising == 0) {
      continue;
    }
    const double share = link.room / link.rising;
    if (share > limit.rate) {
      push_limit({share, limit.index, false});
      continue;
    }
    link.level = share;
    link.held_up = true;
    for (std::size_t i = 0; i < link.flows.size(); ++i) {
      stop_rising(link.flows[i].flow, share, limit.index);
    }
  }
}

void FluidNetwork::stop_rising(std::uint32_t slot, double rate, LinkIndex bottleneck) {
  Flow& flow = flows_[slot];
  if (!flow.open) {
    return;
  }
  flow.open = false;
  flow.filled = rate;
  flow.filled_bottleneck = bottleneck;
  for (const LinkIndex index : flow.path.links()) {
    Link& link = links_[index];
    if (link.seen == round_) {
      link.room = std::max(0.0, link.room - rate);
      link.fastest = std::max(link.fastest, rate);
      --link.rising;
    }
  }
}

// Takes in those who were left out and whose rates cannot stay: they are faster than a link lets others be, or have
// lost their bottleneck. False if there are none: all rates are fair.
bool FluidNetwork::meet_unsettled() {
  const std::size_t before = touched_flows_.size();
  const std::size_t links = touched_links_.size();
  for (std::size_t i = 0; i < links; ++i) {
    const LinkIndex index = touched_links_[i];
    const Link& link = links_[index];
    for (const Crossing& crossing : link.flows) {
      const Flow& flow = flows_[crossing.flow];
      if (flow.seen == round_) {
        continue;
      }
      const bool too_fast = link.held_up && faster(flow.rate, link.level);
      if (too_fast || lost_bottleneck(flow, index)) {
        meet_flow(crossing.flow);
      }
    }
  }
  return touched_flows_.size() > before;
}

bool FluidNetwork::lost_bottleneck(const Flow& flow, LinkIndex index) const noexcept {
  const Link& link = links_[index];
  return flow.bottleneck == index && (link.room > link.capacity * kSame || faster(link.fastest, flow.rate));
}

}  // namespace baton::sim
