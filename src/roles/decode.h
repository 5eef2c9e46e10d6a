// The decode rank: reserves pages, waits for the hand-over, and generates the tokens of all its requests together.
//
//   inbox --Job--> prealloc --pages, Landing--> transfer --verdict--> ready --> running --> over
//                                                                      ^           |
//                                                                      +-retracted-+
//
// With DecodeConfig::local_prefill it is the aggregated rank: the same loop computes prompts too, in chunks beside the
// decode rows. Lives on its context and is used from that thread only, but for inbox() and stop().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/engine/engine.h"
#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "roles/control_link.h"
#include "roles/deadlines.h"
#include "roles/decode_room.h"
#include "roles/peer_watch.h"
#include "roles/policy/admission.h"
#include "roles/policy/mixed_batch.h"
#include "roles/policy/retraction.h"
#include "roles/rank_metrics.h"
#include "roles/room_event.h"
#include "roles/room_queue.h"
#include "roles/run_step.h"
#include "roles/tombstones.h"
#include "runtime/mailbox.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "runtime/trace.h"
#include "transport/transport.h"

namespace baton {

struct DecodeConfig {
  std::uint32_t running_max = 64;     // sequences of one decode step, or of all that are in flight
  std::uint32_t steps_in_flight = 1;  // more where the engine is a pipeline: as many as it has stages
  bool even_steps = true;             // with several in flight: as large as each other; false: all who are in none join
  policy::AdmissionLimits admission;
  policy::MixedLimits step;
  std::size_t waiting_max = 256;  // requests that wait for pages; more are refused as overloaded (429)
  bool local_prefill = false;
  // Each step is made up while the one before it runs, as engines do that hide their host's work behind the device's:
  // who comes during a step takes part one step later; who ends in it has no row in the next all the same.
  bool plan_ahead = false;
  policy::Retraction retraction = policy::Retraction::copy;
  policy::Victims victims = policy::Victims::least_lost;
  std::uint32_t retract_every = 0;  // test setting: retracts one running request every so many steps; 0: never
  Tombstones::Limits tombstones;
};

// What a decode rank works with. All of it outlives the rank.
struct DecodeParts {
  Context& context;
  PeerId self;
  Engine& engine;
  KvReceiver* receiver;  // null on an aggregated rank
  KvArena& arena;
  KvPool& pool;
  ControlLink& link;
  PeerWatch& peers;
  const TextRules& rules;
  RankMetrics& metrics;
  EventTrace& trace;
};

class DecodeRank final {
 public:
  DecodeRank(DecodeParts parts, DecodeConfig config);
  ~DecodeRank();
  DecodeRank(const DecodeRank&) = delete;
  DecodeRank& operator=(const DecodeRank&) = delete;

  // Runs until stop(); then ends the rooms that are left and returns when the last page is back. Called once, not to be
  // cancelled. Throws what a loop of the rank threw, which is a bug of baton's.
  Task<> run();

  // Any thread. Refuses new jobs and fails what is open with Errc::unavailable.
  void stop();

  Mailbox<RankMessage>& inbox() noexcept { return inbox_; }

  // Nothing is held any more: no room, no page leased or in quarantine. Tombstones expire by time.
  bool drained() const noexcept;

 private:
  // decode.cc: life and messages
  Task<> live();
  Task<> listen();
  void take(Job job);
  void take(Landing landing);
  void take(CancelRoom cancel);
  void take(LegFailed failed);
  void cancel(RoomId id, Failure cause);
  void take(PeersGone gone);

  // decode_rooms.cc: rooms end
  void refuse(const Job& job, Failure cause);
  void fail(DecodeRoom& room, Failure cause);
  void finish(DecodeRoom& room);
  void close(DecodeRoom& room);
  Task<> watch_deadlines();
  void update_metrics();
  void note(const char* event, RoomId room, std::uint64_t a = 0, std::uint64_t b = 0) {
    parts_.trace.record(parts_.context.now(), parts_.self.rank, event, room.value, a, b);
  }

  // decode_admit.cc: from the job to the verdict
  Task<> admit();
  void admit_some();
  bool may_admit();
  void reserve(DecodeRoom& room);
  std::span<const std::uint64_t> reusable_prefix(const DecodeRoom& room) const;
  void keep_prefix(DecodeRoom& room);
  Task<> await_transfer(DecodeRoom& room, TransferId id);
  std::vector<policy::ActiveRequest> active_requests();
  std::vector<policy::ActiveRequest> retracted_requests();

  // decode_step.cc: from the verdict to the last token
  Task<> generate();
  Task<> take_up();
  Task<> take_step(std::vector<DecodeRoom*> rooms, std::vector<std::uint32_t> rows, StepBatch batch);
  void join_ready();
  StepBatch form_step(std::vector<DecodeRoom*>& rooms, std::vector<std::uint32_t>& rows);
  void end_step(const std::vector<DecodeRoom*>& rooms, const std::vector<std::uint32_t>& rows, StepResult& result);
  bool accept_token(DecodeRoom& room, SampledToken token);
  void accept_tokens(DecodeRoom& room, StepOutput& output, std::size_t index);
  void say(DecodeRoom& room, GenerationEvent event);
  void flush_events();

  // decode_rounds.cc: several steps in a row
  struct RoundStep;
  std::uint32_t rounds_ahead(const std::vector<DecodeRoom*>& rooms, const std::vector<std::uint32_t>& rows) const;
  void reserve_rounds(RoundStep& step, StepBatch& batch);
  void settle_rounds();
  void account(RoundStep& step, std::uint32_t rounds);
  void end_rounds(RoundStep& step, const StepResult& result);
  bool accept_tokens(DecodeRoom& room, const RoundStep& step, std::size_t index,
                     const std::shared_ptr<const std::vector<TimePoint>>& ends);

  // decode_retract.cc: when pages run out
  Task<> make_room();
  Task<> retract(DecodeRoom& room);
  std::vector<DecodeRoom*> who_returns();
  Task<> resume_retracted();
  void compute_again(DecodeRoom& room);
  std::vector<std::uint64_t> page_names(const DecodeRoom& room, std::uint32_t tokens) const;
  std::uint32_t pages_wanted(const DecodeRoom& room) const;

  void move(DecodeRoom& room, DecodeRoom::State to);
  RoomQueue<DecodeRoom>& queue(DecodeRoom::State state);

  // History: what happens to the room, in which state.
  void saw(const char* event, RoomId room) {
    if (parts_.trace.enabled()) {
      note(event, room, static_cast<std::uint64_t>(state_of(room)));
    }
  }
  room_event::DecodeState state_of(RoomId room) const;

  DecodeParts parts_;
  DecodeConfig config_;
  Scope scope_;
  Mailbox<RankMessage> inbox_;
  std::unordered_map<RoomId, std::unique_ptr<DecodeRoom>> rooms_;
  RoomQueue<DecodeRoom> prealloc_;
  RoomQueue<DecodeRoom> transfer_;
  RoomQueue<DecodeRoom> ready_;
  RoomQueue<DecodeRoom> running_;
  RoomQueue<DecodeRoom> retracted_;
  Deadlines deadlines_;
  Tombstones tombstones_;
  std::map<RankId, std::vector<RoomEvent>> events_;  // of the step being taken in, by router; one message each
  Pulse admission_;                                  // the admission loop looks again
  Pulse work_;                                       // the step loop looks again
  Pulse deadline_;                                   // the deadline watch looks again
  Pulse room_gone_;                                  // run() looks whether all is over
  RoundStep* round_step_ = nullptr;                  // several rounds under way
  std::uint64_t steps_ = 0;
  std::uint32_t in_flight_ = 0;          // steps
  std::uint64_t forced_retraction_ = 0;  // the step of the last one
  bool arranging_ = false;               // who runs gets pages for the next step; nobody new does meanwhile
  bool held_up_ = false;                 // the admission loop, by that
  bool stopping_ = false;
};

}  // namespace baton
