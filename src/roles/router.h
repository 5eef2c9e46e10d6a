// The router: takes a request in, chooses its two ranks, draws its room, and gives the front end its events.
//
//   front end --start()--> router --Job--> prefill rank, decode rank     (one room, one deadline for both)
//   front end <--next()--- router <--RoomEvents, LegFailed, PrefillDone--
//
// Lives on the front's context together with the front end; nothing here is called from another thread but inbox()'s
// push. A node may have several, each with rooms of its own. A router ends every request by itself at the deadline,
// whatever the ranks do, and the first end wins: what comes later for that room finds nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "roles/control_link.h"
#include "roles/deadlines.h"
#include "roles/generation.h"
#include "roles/membership.h"
#include "roles/policy/routing.h"
#include "roles/prefix_index.h"
#include "roles/room_event.h"
#include "roles/router_room.h"
#include "runtime/channel.h"
#include "runtime/mailbox.h"
#include "runtime/metrics.h"
#include "runtime/pulse.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/trace.h"
#include "transport/transfer.h"

namespace baton {

// What a router knows of the prefix caches behind it; the same in all routers of a node.
struct PrefixRouting {
  std::uint32_t page_tokens = 0;      // of the ranks' pages; 0: there is no cache
  std::uint64_t pages_total = 0;      // of all caches together
  bool on_decode = false;             // decode ranks have the caches, not prefill ranks
  bool named_by_front_end = false;    // a request without names has nothing to share
  std::uint64_t seed = 0;             // of the names; a secret of the deployment: see prefix_keys.h
  std::uint64_t slack_tokens = 1024;  // with prefix-aware routing: see policy::choose_by_prefix
};

struct RouterConfig {
  policy::Routing routing = policy::Routing::least_loaded;
  std::size_t open_max = 1024;                      // requests at one time; more are refused as overloaded (429)
  Duration time_limit = std::chrono::seconds(600);  // for requests that name none
  std::uint32_t max_context = 0;                    // prompt and output together
  std::uint32_t max_prompt = 0;                     // the prompt alone; 0: no limit of its own
  std::uint32_t vocab_size = 0;
  Liveness liveness;  // how it learns which ranks live
  PrefixRouting prefix;
  std::uint32_t index = 0;  // which of the node's routers it is
  std::uint64_t seed = 0;   // of rooms and random routing
};

// The ranks a router may choose from. With aggregated ranks both lists are the same.
struct RouterRanks {
  std::vector<PeerId> prefill;
  std::vector<PeerId> decode;
};

class Router final : public Generator {
 public:
  Router(Context& context, ControlLink& link, RouterRanks ranks, RouterConfig config, MetricsRegistry& metrics,
         EventTrace& trace);
  ~Router() override;

  RankId self() const noexcept { return {Role::router, config_.index}; }

  // Runs until stop(). Called once.
  Task<> run();

  std::unique_ptr<Generation> start(GenerationRequest request) override;
  ServiceState state() const noexcept override { return state_; }
  std::uint32_t max_context() const noexcept override { return config_.max_context; }

  // On the front's context: the ranks are up, requests may come.
  void open_for_work() noexcept { state_ = ServiceState::usable; }

  // Refuses new requests from now on; completes when none is open, or at the deadline, when what is left is aborted.
  Task<> drain(TimePoint deadline);
  void stop();

  Mailbox<RouterMessage>& inbox() noexcept { return inbox_; }

  // For Sample: the front end lost interest in a room; the front end took the end of one.
  void abandon(RoomId id, Failure cause);
  void delivered(const Timeline& timeline);

  std::size_t open_requests() const noexcept { return rooms_.size(); }

 private:
  // Indices in the lists of ranks, where there is a usable one of the kind.
  struct Choice {
    std::optional<std::size_t> prefill;
    std::optional<std::size_t> decode;
    std::uint32_t cached_tokens = 0;  // what the one with the cache is expected to have of the prompt
  };

  std::optional<Failure> check(const GenerationRequest& request) const;
  RoomId draw_room(const GenerationRequest& request);
  bool dispatch(Sample& sample, GenerationRequest request);
  void name_prefix(GenerationRequest& request) const;
  Choice choose(const GenerationRequest& request);

  Task<> live();
  Task<> listen();
  void take_inbox();
  void take(RoomEvents message);
  void take(LegFailed message);
  void take(PrefillDone message);
  void take(Heartbeat message);
  void lose(const std::vector<PeerId>& peers, const std::string& how);
  void refresh_ranks();
  std::vector<RankId> all_ranks() const;
  void expire_ranks();
  void deliver(RouterRoom& room);
  void end(RoomId id, Failure cause, std::optional<RankId> already_knows);
  void forget(RoomId id);
  void release_prefill(RouterRoom& room);
  Task<> watch_deadlines();

  // History: what happens to the room, in which state.
  void saw(const char* event, RoomId room) {
    if (trace_.enabled()) {
      trace_.record(context_.now(), self(), event, room.value, static_cast<std::uint64_t>(state_of(room)));
    }
  }
  room_event::RouterState state_of(RoomId room) const;

  Context& context_;
  ControlLink& link_;
  EventTrace& trace_;
  RouterRanks ranks_;
  RouterConfig config_;
  Scope scope_;
  Mailbox<RouterMessage> inbox_;
  std::unordered_map<RoomId, std::unique_ptr<RouterRoom>> rooms_;
  std::vector<policy::RankLoad> prefill_load_;
  std::vector<policy::RankLoad> decode_load_;
  Deadlines deadlines_;
  Membership membership_;
  std::optional<PrefixIndex> prefixes_;  // with prefix-aware routing
  Pulse deadline_;                       // of a room or of a silent rank
  Pulse room_gone_;                      // drain() looks whether any is left
  Pulse stopped_;
  Random random_;
  std::uint64_t turn_ = 0;
  ServiceState state_ = ServiceState::starting;
  bool stopping_ = false;

  std::vector<Histogram*> stage_seconds_;  // by Stage
  Gauge& open_gauge_;
  Counter& finished_;
  Counter& failed_;
};

}  // namespace baton
