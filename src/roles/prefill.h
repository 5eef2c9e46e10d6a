// The prefill rank: computes prompts chunk by chunk and hands each chunk's keys and values over as soon as it is done.
//
//   inbox --Job--> bootstrap --Landing--> waiting --steps--> inflight --counted--> over
//                                            |                  ^
//                                            +--finished pages--+  (one send_room task per room)
//
// Lives on its context and is used from that thread only, but for inbox() and stop(). Computing, sending and listening
// are tasks of one scope; nothing blocks. Every room ends in exactly one way, and tells the other leg and the router.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/engine/engine.h"
#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "roles/control_link.h"
#include "roles/deadlines.h"
#include "roles/output.h"
#include "roles/peer_watch.h"
#include "roles/policy/prefill_batch.h"
#include "roles/prefill_room.h"
#include "roles/rank_metrics.h"
#include "roles/room_event.h"
#include "roles/room_queue.h"
#include "roles/tombstones.h"
#include "runtime/mailbox.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "runtime/trace.h"
#include "transport/transport.h"

namespace baton {

struct PrefillConfig {
  policy::PrefillLimits step;
  std::uint32_t steps_in_flight = 1;  // more where the engine is a pipeline: as many as it has stages
  std::size_t rooms_max = 1024;       // rooms at one time; more are refused as overloaded
  Duration early_landing_lifetime = std::chrono::seconds(10);  // a landing without a job is refused after it
  Tombstones::Limits tombstones;
};

// What a prefill rank works with. All of it outlives the rank.
struct PrefillParts {
  Context& context;
  PeerId self;
  Engine& engine;
  KvSender& sender;
  KvArena* arena;  // own pages for targets that cannot be computed into; null where all can
  KvPool* pool;    // accounting of arena
  ControlLink& link;
  PeerWatch& peers;
  const TextRules& rules;
  RankMetrics& metrics;
  EventTrace& trace;
};

class PrefillRank final {
 public:
  PrefillRank(PrefillParts parts, PrefillConfig config);

  // Runs until stop(); then ends the rooms that are left and returns when the last of them is gone. Called once, not to
  // be cancelled. Throws what a loop of the rank threw, which is a bug of baton's.
  Task<> run();

  // Any thread. Refuses new jobs and fails what is open with Errc::unavailable.
  void stop();

  Mailbox<RankMessage>& inbox() noexcept { return inbox_; }

  // Nothing is held any more: no room, no landing kept for a job, no page. Tombstones expire by time.
  bool drained() const noexcept;

 private:
  struct EarlyLanding {
    Landing landing;
    TimePoint expires;
  };

  // prefill.cc: life and messages
  Task<> live();
  Task<> listen();
  void take(Job job);
  void take(Landing landing);
  void take(CancelRoom cancel);
  void take(LegFailed failed);
  void cancel(RoomId id, Failure cause);
  void take(PeersGone gone);

  // prefill_rooms.cc: they come and go
  void open(PrefillRoom& room, const Landing& landing);
  Task<> watch_deadlines();
  void fail(PrefillRoom& room, Failure cause);
  void close(PrefillRoom& room);
  void move(PrefillRoom& room, PrefillRoom::State to);
  RoomQueue<PrefillRoom>& queue(PrefillRoom::State state);
  void refuse(const Job& job, Failure cause);

  // prefill_step.cc
  Task<> compute();
  Task<> take_step(std::vector<PrefillRoom*> rooms, StepBatch batch);
  bool find_pages(PrefillRoom& room);
  void keep_prefix(PrefillRoom& room);
  StepBatch form_step(std::vector<PrefillRoom*>& rooms);
  void end_step(const std::vector<PrefillRoom*>& rooms, const std::vector<std::uint32_t>& rows, StepOutput& output);
  void step_failed(const std::vector<PrefillRoom*>& rooms, const Failure& failure);

  // prefill_send.cc
  Task<> send_room(PrefillRoom& room);
  Task<Result<>> push_pages(PrefillRoom& room, std::uint32_t ready);
  Task<Result<>> finish_room(PrefillRoom& room);

  void keep_early(Landing landing);
  std::optional<Landing> take_early(RoomId id);
  void refuse_early(RoomId id, const Failure& cause);
  void update_metrics();
  void note(const char* event, RoomId room, std::uint64_t a = 0, std::uint64_t b = 0) {
    parts_.trace.record(parts_.context.now(), parts_.self.rank, event, room.value, a, b);
  }

  // History: what happens to the room, in which state.
  void saw(const char* event, RoomId room) {
    if (parts_.trace.enabled()) {
      note(event, room, static_cast<std::uint64_t>(state_of(room)));
    }
  }
  room_event::PrefillState state_of(RoomId room) const;

  PrefillParts parts_;
  PrefillConfig config_;
  Scope scope_;
  Mailbox<RankMessage> inbox_;
  std::unordered_map<RoomId, std::unique_ptr<PrefillRoom>> rooms_;
  std::map<RoomId, EarlyLanding> early_landings_;  // decode was faster than the router's job
  RoomQueue<PrefillRoom> bootstrap_;
  RoomQueue<PrefillRoom> waiting_;
  RoomQueue<PrefillRoom> inflight_;
  Deadlines deadlines_;
  Deadlines early_deadlines_;  // of the early landings
  Tombstones tombstones_;
  Pulse work_;       // the step loop looks again
  Pulse deadline_;   // the deadline watch looks again
  Pulse room_gone_;  // run() looks whether the last room is gone
  std::uint64_t steps_ = 0;
  std::uint32_t in_flight_ = 0;  // steps
  bool stopping_ = false;
};

}  // namespace baton
