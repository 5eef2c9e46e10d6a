// Who is touched by what has changed, and what rates they get: the search and the progressive filling.
#include <algorithm>
#include <limits>

#include "runtime/check.h"
#include "sim/network/fluid.h"

namespace baton::sim {
namespace {

// A link counts as never full when its flows at their highest rates just fill it, but for rounding.
constexpr double kSlack = 1.0 + 1e-12;

}  // namespace

// False where even all flows at the speed of their narrowest links leave room: such a link couples nobody.
bool FluidNetwork::may_fill(const Link& link) noexcept {
  return link.demand > link.capacity * kSlack;
}

void FluidNetwork::refresh() {
  if (changed_links_.empty() && changed_flows_.empty()) {
    return;
  }
  search();
  gather_limits();
  fill();
  for (const std::uint32_t slot : touched_flows_) {
    Flow& flow = flows_[slot];
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

// Everybody who shares a link that may be full with somebody whose share may change.
void FluidNetwork::search() {
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
  for (std::size_t next = 0; next < touched_links_.size(); ++next) {
    for (const Crossing& crossing : links_[touched_links_[next]].flows) {
      meet_flow(crossing.flow);
    }
  }
}

void FluidNetwork::meet_link(LinkIndex index) {
  Link& link = links_[index];
  if (link.seen != round_) {
    link.seen = round_;
    link.room = link.capacity;
    link.rising = static_cast<std::uint32_t>(link.flows.size());
    touched_links_.push_back(index);
  }
}

void FluidNetwork::meet_flow(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (flow.seen == round_) {
    return;
  }
  flow.seen = round_;
  flow.open = true;
  touched_flows_.push_back(slot);
  for (const LinkIndex index : flow.path.links()) {
    if (may_fill(links_[index])) {
      meet_link(index);
    }
  }
}

// A flow needs a limit of its own only where its narrowest link is none of those that are filled.
void FluidNetwork::gather_limits() {
  limits_.clear();
  for (const LinkIndex index : touched_links_) {
    const Link& link = links_[index];
    if (link.rising > 0) {
      limits_.push_back({link.capacity / link.rising, index, false});
    }
  }
  for (const std::uint32_t slot : touched_flows_) {
    const Flow& flow = flows_[slot];
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
      stop_rising(limit.index, limit.rate);
      continue;
    }
    const Link& link = links_[limit.index];
    if (link.rising == 0) {
      continue;
    }
    const double share = link.room / link.rising;
    if (share > limit.rate) {
      push_limit({share, limit.index, false});
      continue;
    }
    for (std::size_t i = 0; i < link.flows.size(); ++i) {
      stop_rising(link.flows[i].flow, share);
    }
  }
}

void FluidNetwork::stop_rising(std::uint32_t slot, double rate) {
  Flow& flow = flows_[slot];
  if (!flow.open) {
    return;
  }
  flow.open = false;
  flow.filled = rate;
  for (const LinkIndex index : flow.path.links()) {
    Link& link = links_[index];
    if (link.seen == round_) {
      link.room = std::max(0.0, link.room - rate);
      --link.rising;
    }
  }
}

}  // namespace baton::sim
