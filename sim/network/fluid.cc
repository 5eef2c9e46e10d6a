#include "sim/network/fluid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/check.h"

namespace baton::sim {
namespace {

constexpr double kNanos = 1e9;

// Of a nanosecond: what arithmetic in doubles may add to a time that is a whole number.
constexpr double kRounding = 1e-3;

constexpr double kTooLong = 9e18;  // ns, near the end of time

}  // namespace

void Path::add(LinkIndex link) {
  BATON_CHECK(size_ < kPathLinksMax);
  BATON_CHECK(std::ranges::find(links(), link) == links().end(), link);
  links_[size_++] = link;
}

LinkIndex FluidNetwork::add_link(std::string name, double bytes_per_second) {
  BATON_CHECK(std::isfinite(bytes_per_second) && bytes_per_second > 0.0, name, bytes_per_second);
  Link link;
  link.name = std::move(name);
  link.capacity = bytes_per_second;
  links_.push_back(std::move(link));
  return static_cast<LinkIndex>(links_.size() - 1);
}

FlowId FluidNetwork::start(const Path& path, double bytes, TimePoint now) {
  BATON_CHECK(std::isfinite(bytes) && bytes >= 0.0, bytes);
  advance(now);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  Flow& flow = flows_[slot];
  flow.path = path;
  flow.left = bytes;
  flow.rate = 0.0;
  flow.filled = 0.0;
  flow.bottleneck = kNowhere;
  flow.since = now;
  flow.order = starts_++;
  attach(slot, now);
  flow.end = path.empty() || bytes <= 0.0 ? now : kNever;
  by_end_.push_back(slot);
  flow.heap_place = static_cast<std::uint32_t>(by_end_.size() - 1);
  heap_move(flow.heap_place);
  if (flow.end == kNever) {
    changed_flows_.push_back(slot);
  }
  return {slot, flow.generation};
}

void FluidNetwork::shorten(FlowId id, double bytes, TimePoint now) {
  BATON_CHECK(alive(id) && bytes >= 0.0, id.slot, bytes);
  advance(now);
  refresh();
  if (!alive(id)) {
    return;
  }
  Flow& flow = flows_[id.slot];
  settle(flow, now);
  flow.left = std::max(0.0, flow.left - bytes);
  flow.end = end_after(flow);
  heap_move(flow.heap_place);
}

double FluidNetwork::cancel(FlowId id, TimePoint now) {
  BATON_CHECK(alive(id), id.slot);
  advance(now);
  if (!alive(id)) {
    return 0.0;
  }
  Flow& flow = flows_[id.slot];
  settle(flow, now);
  const double left = flow.left;
  detach(id.slot, now);
  heap_remove(id.slot);
  release(id.slot);
  return left;
}

void FluidNetwork::advance(TimePoint now) {
  BATON_CHECK(now >= now_, now.time_since_epoch().count(), now_.time_since_epoch().count());
  for (;;) {
    if (now > now_) {
      refresh();
    }
    if (by_end_.empty() || flows_[by_end_.front()].end > now) {
      break;
    }
    now_ = std::max(now_, flows_[by_end_.front()].end);
    end_all_of(now_);
  }
  now_ = now;
}

// Flows of one instant leave together: one search and one filling for all of them.
void FluidNetwork::end_all_of(TimePoint time) {
  while (!by_end_.empty() && flows_[by_end_.front()].end <= time) {
    const std::uint32_t slot = by_end_.front();
    Flow& flow = flows_[slot];
    settle(flow, time);
    for (const LinkIndex link : flow.path.links()) {
      links_[link].carried += flow.left;  // what rounding the end up to a nanosecond has left
    }
    ended_.push_back({slot, flow.generation});
    detach(slot, time);
    heap_remove(slot);
    release(slot);
  }
}

TimePoint FluidNetwork::next_end() {
  refresh();
  return by_end_.empty() ? kNever : flows_[by_end_.front()].end;
}

bool FluidNetwork::alive(FlowId flow) const noexcept {
  return flow.slot < flows_.size() && flows_[flow.slot].generation == flow.generation &&
         flows_[flow.slot].heap_place != kNowhere;
}

double FluidNetwork::rate(FlowId flow) {
  BATON_CHECK(alive(flow), flow.slot);
  refresh();
  return flows_[flow.slot].path.empty() ? std::numeric_limits<double>::infinity() : flows_[flow.slot].rate;
}

double FluidNetwork::left(FlowId id, TimePoint now) const {
  BATON_CHECK(alive(id), id.slot);
  const Flow& flow = flows_[id.slot];
  return std::max(0.0, flow.left - flow.rate * seconds(now - flow.since));
}

double FluidNetwork::carried(LinkIndex index, TimePoint now) const {
  const Link& link = links_.at(index);
  double bytes = link.carried;
  for (const Crossing& crossing : link.flows) {
    const Flow& flow = flows_[crossing.flow];
    bytes += std::min(flow.left, flow.rate * seconds(now - flow.since));
  }
  return bytes;
}

Duration FluidNetwork::in_use(LinkIndex index, TimePoint now) const {
  const Link& link = links_.at(index);
  return link.flows.empty() ? link.used : link.used + (now - link.used_since);
}

void FluidNetwork::attach(std::uint32_t slot, TimePoint now) {
  Flow& flow = flows_[slot];
  const auto path = flow.path.links();
  flow.cap = std::numeric_limits<double>::infinity();
  for (const LinkIndex index : path) {
    flow.cap = std::min(flow.cap, links_.at(index).capacity);
  }
  for (std::uint32_t position = 0; position < path.size(); ++position) {
    Link& link = links_[path[position]];
    if (link.flows.empty()) {
      link.used_since = now;
    }
    flow.place[position] = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({slot, position});
    link.demand += flow.cap;
  }
}

// Where a link may have been full its flows can rise now.
void FluidNetwork::detach(std::uint32_t slot, TimePoint now) {
  Flow& flow = flows_[slot];
  const auto path = flow.path.links();
  for (std::uint32_t position = 0; position < path.size(); ++position) {
    Link& link = links_[path[position]];
    if (may_fill(link)) {
      changed_links_.push_back(path[position]);
    }
    const Crossing last = link.flows.back();
    link.flows[flow.place[position]] = last;
    flows_[last.flow].place[last.position] = flow.place[position];
    link.flows.pop_back();
    link.demand = link.flows.empty() ? 0.0 : link.demand - flow.cap;
    if (link.flows.empty()) {
      link.used += now - link.used_since;
    }
  }
}

void FluidNetwork::release(std::uint32_t slot) {
  ++flows_[slot].generation;
  free_.push_back(slot);
}

// Brings the flow's account up to date.
void FluidNetwork::settle(Flow& flow, TimePoint now) {
  if (now > flow.since) {
    const double brought = std::min(flow.left, flow.rate * seconds(now - flow.since));
    flow.left -= brought;
    for (const LinkIndex link : flow.path.links()) {
      links_[link].carried += brought;
    }
  }
  flow.since = now;
}

TimePoint FluidNetwork::end_after(const Flow& flow) const {
  const double nanos = std::ceil(flow.left / flow.rate * kNanos - kRounding);
  return nanos < kTooLong ? add_saturating(flow.since, Duration(static_cast<Duration::rep>(std::max(nanos, 0.0))))
                          : kNever;
}

bool FluidNetwork::ends_before(std::uint32_t a, std::uint32_t b) const noexcept {
  const Flow& one = flows_[a];
  const Flow& other = flows_[b];
  return one.end != other.end ? one.end < other.end : one.order < other.order;
}

void FluidNetwork::heap_put(std::size_t place, std::uint32_t slot) noexcept {
  by_end_[place] = slot;
  flows_[slot].heap_place = static_cast<std::uint32_t>(place);
}

// Up or down to where the flow's end belongs.
void FluidNetwork::heap_move(std::size_t place) noexcept {
  const std::uint32_t slot = by_end_[place];
  while (place > 0 && ends_before(slot, by_end_[(place - 1) / 2])) {
    heap_put(place, by_end_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (std::size_t child = 2 * place + 1; child < by_end_.size(); child = 2 * place + 1) {
    if (child + 1 < by_end_.size() && ends_before(by_end_[child + 1], by_end_[child])) {
      ++child;
    }
    if (!ends_before(by_end_[child], slot)) {
      break;
    }
    heap_put(place, by_end_[child]);
    place = child;
  }
  heap_put(place, slot);
}

void FluidNetwork::heap_remove(std::uint32_t slot) {
  const std::size_t place = flows_[slot].heap_place;
  const std::uint32_t last = by_end_.back();
  by_end_.pop_back();
  flows_[slot].heap_place = kNowhere;
  if (last != slot) {
    heap_put(place, last);
    heap_move(place);
  }
}

}  // namespace baton::sim
