// What routers and ranks say to each other. Typed and versionless inside one process; the network form encodes the
// same messages, it never rewrites a client's JSON.
//
//   router  --Job-->       prefill rank, decode rank    (both legs, neither waits for the other)
//   decode  --Landing-->   prefill                      (pages are reserved; write here)
//   any     --CancelRoom--> a rank                      (stop this room; idempotent, also for unknown rooms)
//   prefill --LegFailed--> decode, router               (refused or failed; the landing, if any, is closed separately)
//   decode  --RoomEvents, LegFailed--> router
//   rank    --Heartbeat--> every router                 (this instance lives)
//   router  --PeersGone--> every rank                   (these instances are over for good)
//
// A room's router is named in its job: what the legs say about the room goes there.
//
// Every message has a constructor: g++ 12 destroys aggregates twice inside an expression with co_await.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "roles/generation.h"
#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/time.h"
#include "transport/transfer.h"

namespace baton {

// One leg's share of a request. The request is immutable and shared by both legs and the router.
struct Job {
  RoomId room;
  std::shared_ptr<const GenerationRequest> request;
  PeerId prefill;  // equal to decode on an aggregated rank
  PeerId decode;
  TimePoint arrived;   // at the router
  TimePoint deadline;  // the same for both legs
  RankId router;       // which one hears about the room

  Job(RoomId room_in, std::shared_ptr<const GenerationRequest> request_in, PeerId prefill_in, PeerId decode_in,
      TimePoint arrived_in, TimePoint deadline_in, RankId router_in = {Role::router, 0})
      : room(room_in),
        request(std::move(request_in)),
        prefill(prefill_in),
        decode(decode_in),
        arrived(arrived_in),
        deadline(deadline_in),
        router(router_in) {}
};

// Ends a room at the receiving rank, whatever it is doing. For a room the rank does not know yet it leaves a
// tombstone, so that what arrives later is refused.
struct CancelRoom {
  RoomId room;
  Failure cause;

  CancelRoom(RoomId room_in, Failure cause_in) : room(room_in), cause(std::move(cause_in)) {}
};

// One leg ended badly. The sender has already released or quarantined what it held.
struct LegFailed {
  RoomId room;
  RankId from;
  Failure failure;

  LegFailed(RoomId room_in, RankId from_in, Failure failure_in)
      : room(room_in), from(from_in), failure(std::move(failure_in)) {}
};

// What a rank produced in one step, for all its rooms: one message a step and router, not one a token.
// The events of a room are numbered from zero without gaps, so that the router knows what came twice or too early.
struct RoomEvent {
  RoomId room;
  std::uint32_t number;
  GenerationEvent event;

  // The event by reference: g++ 12 sees uninitialized memory where one moves through by value.
  RoomEvent(RoomId room_in, std::uint32_t number_in, GenerationEvent&& event_in)
      : room(room_in), number(number_in), event(std::move(event_in)) {}
};

struct RoomEvents {
  std::vector<RoomEvent> events;

  explicit RoomEvents(std::vector<RoomEvent> events_in) : events(std::move(events_in)) {}
};

// The prompt's keys and values are complete on the decode side: the prefill rank's load is gone.
struct PrefillDone {
  RoomId room;

  explicit PrefillDone(RoomId room_in) : room(room_in) {}
};

// An instance of a rank says that it lives: at its start, and once a period from then on.
struct Heartbeat {
  PeerId from;

  explicit Heartbeat(PeerId from_in) : from(from_in) {}
};

// Instances that are over, whatever they may still say: they died, were replaced, or were silent for too long. A fact
// that never changes, so it may come late and more than once. A rank that finds itself among them has been given up.
struct PeersGone {
  std::vector<PeerId> peers;

  explicit PeersGone(std::vector<PeerId> peers_in) : peers(std::move(peers_in)) {}
};

using RankMessage = std::variant<Job, Landing, CancelRoom, LegFailed, PeersGone>;
using RouterMessage = std::variant<RoomEvents, LegFailed, PrefillDone, Heartbeat>;

}  // namespace baton
