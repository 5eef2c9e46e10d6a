// FluidNetwork: transfers as fluid flows over links, every link shared fairly between the flows that cross it.
//
//   start(path, bytes) --> rates: max-min fair, recomputed at every start and end --> the flow ends when it is empty
//
// Pure: time is handed in and never goes back; whoever owns it (FluidTransfers in a world) asks next_end() and calls
// advance(). Max-min fairness by progressive filling (D. Bertsekas and R. Gallager, "Data Networks", 2nd ed., section
// 6.5.2): all rates rise together; the flows of a link stop rising when it is full. An instant's changes are followed
// up all at once, and only as far as they reach: rates are fair exactly if every flow has a bottleneck, a full link on
// which nobody is faster (same book), so the filling starts next to the change and takes in those who have lost theirs.
// Bytes and rates are doubles; the end of a flow is rounded up to the nanosecond of the clock, in one place
// (end_after).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/time.h"

namespace baton::sim {

using LinkIndex = std::uint32_t;  // in the order of add_link, from zero

inline constexpr std::size_t kPathLinksMax = 6;

// The links that a flow crosses, each once; their order does not matter. Empty: nothing holds the flow up, it ends at
// once. A value.
class Path final {
 public:
  Path() = default;
  void add(LinkIndex link);  // at most kPathLinksMax
  std::span<const LinkIndex> links() const noexcept { return {links_.data(), size_}; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<LinkIndex, kPathLinksMax> links_{};
  std::uint32_t size_ = 0;
};

// One flow from its start to its end; names of ended flows are not used again.
struct FlowId {
  std::uint32_t slot = 0;  // below slots()
  std::uint32_t generation = 0;
  friend auto operator<=>(const FlowId&, const FlowId&) = default;
};

class FluidNetwork final {
 public:
  // bytes_per_second: finite and above zero. One direction: a full-duplex port is two links.
  LinkIndex add_link(std::string name, double bytes_per_second);

  // Starts a flow of bytes >= 0. First everything up to `now` happens. One that needs no time has ended with the next
  // advance().
  FlowId start(const Path& path, double bytes, TimePoint now);

  // Takes bytes off what the flow still has to bring, as if it had brought them before; no link counts them.
  void shorten(FlowId flow, double bytes, TimePoint now);

  // Ends a flow early; its share is free at once. Gives the bytes that it had left. REQUIRES alive(flow).
  double cancel(FlowId flow, TimePoint now);

  // Lets time pass up to and including `now`. Flows that end go to ended(), by time and then by start.
  void advance(TimePoint now);

  // Those that have ended by themselves since the last clear_ended().
  std::span<const FlowId> ended() const noexcept { return ended_; }
  void clear_ended() noexcept { ended_.clear(); }

  TimePoint next_end();  // when the next flow ends if nothing changes; kNever: none does

  bool alive(FlowId flow) const noexcept;
  double rate(FlowId flow);                       // bytes/s now; infinite for an empty path. REQUIRES alive(flow)
  double left(FlowId flow, TimePoint now) const;  // bytes. REQUIRES alive(flow)

  std::size_t flows() const noexcept { return by_end_.size(); }
  std::size_t slots() const noexcept { return flows_.size(); }
  std::size_t links() const noexcept { return links_.size(); }
  const std::string& link_name(LinkIndex link) const { return links_.at(link).name; }
  double capacity(LinkIndex link) const { return links_.at(link).capacity; }  // bytes/s
  std::size_t flows_on(LinkIndex link) const { return links_.at(link).flows.size(); }
  double carried(LinkIndex link, TimePoint now) const;   // bytes since the beginning. REQUIRES now of the last call
  Duration in_use(LinkIndex link, TimePoint now) const;  // time during which the link had a flow

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  struct Flow {
    Path path;
    std::array<std::uint32_t, kPathLinksMax> place{};  // in Link::flows, by position on the path
    double left = 0.0;                                 // bytes at `since`
    double rate = 0.0;                                 // bytes/s from `since` on
    double cap = 0.0;                                  // capacity of the narrowest link
    double filled = 0.0;                               // the rate that the filling under way has found
    TimePoint since{};
    TimePoint end{};
    std::uint64_t order = 0;  // of starts
    std::uint64_t seen = 0;   // the round of the last search that met it
    std::uint32_t heap_place = kNowhere;
    std::uint32_t generation = 0;
    LinkIndex bottleneck = kNowhere;         // the link that held it up at last; none: its own cap
    LinkIndex filled_bottleneck = kNowhere;  // of the filling under way
    bool open = false;                       // still rising in the filling under way
  };

  struct Crossing {
    std::uint32_t flow = 0;      // slot
    std::uint32_t position = 0;  // of the link on the flow's path
  };

  struct Link {
    std::string name;
    double capacity = 0.0;
    double demand = 0.0;  // sum of its flows' caps: below capacity it cannot be full
    double carried = 0.0;
    double room = 0.0;     // of the filling under way
    double level = 0.0;    // likewise: the rate at which it held flows up
    double fastest = 0.0;  // likewise: the highest rate of those that were filled
    std::vector<Crossing> flows;
    std::uint64_t seen = 0;
    std::uint32_t rising = 0;  // flows still open in the filling under way
    bool held_up = false;      // it has stopped flows in the filling under way
    TimePoint used_since{};
    Duration used{0};
  };

  // A limit at which the filling stops for somebody: a link's fair share, or the cap of one flow.
  struct Limit {
    double rate = 0.0;
    std::uint32_t index = 0;
    bool of_flow = false;
  };

  void attach(std::uint32_t slot, TimePoint now);
  void detach(std::uint32_t slot, TimePoint now);
  void release(std::uint32_t slot);
  void end_all_of(TimePoint time);
  void settle(Flow& flow, TimePoint now);
  TimePoint end_after(const Flow& flow) const;

  // fluid_fill.cc
  static bool may_fill(const Link& link) noexcept;
  static bool before(const Limit& a, const Limit& b) noexcept;
  void refresh();
  void start_search();
  void meet_link(LinkIndex index);
  void meet_flow(std::uint32_t slot);
  void meet_flows_on(std::size_t first_link);
  void prepare();
  void push_limit(Limit limit);
  void fill();
  void stop_rising(std::uint32_t slot, double rate, LinkIndex bottleneck);
  bool meet_unsettled();
  bool lost_bottleneck(const Flow& flow, LinkIndex index) const noexcept;

  // The flows by (end, order): a binary heap that knows each one's place.
  bool ends_before(std::uint32_t a, std::uint32_t b) const noexcept;
  void heap_put(std::size_t place, std::uint32_t slot) noexcept;
  void heap_move(std::size_t place) noexcept;
  void heap_remove(std::uint32_t slot);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> by_end_;
  std::vector<FlowId> ended_;
  std::vector<std::uint32_t> ending_;
  TimePoint now_{};
  std::uint64_t starts_ = 0;

  // What has changed at now_ and not been followed up yet, and the memory of the search and the filling.
  std::vector<LinkIndex> changed_links_;
  std::vector<std::uint32_t> changed_flows_;
  std::vector<LinkIndex> touched_links_;
  std::vector<std::uint32_t> touched_flows_;
  std::vector<Limit> limits_;
  std::uint64_t round_ = 0;
};

}  // namespace baton::sim
