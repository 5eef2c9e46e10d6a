// One open request as its router knows it, from its two jobs to its one end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "roles/event_order.h"
#include "roles/generation.h"
#include "runtime/ids.h"
#include "runtime/time.h"
#include "transport/transfer.h"

namespace baton {

class Sample;

// A rank chosen for a request: where its load is counted, and which life of it was asked.
struct RouterLeg {
  std::size_t index = 0;  // in the router's list of ranks of its kind
  PeerId peer;
  std::uint32_t cached_tokens = 0;  // what it is expected to have of the prompt already
};

struct RouterRoom {
  RoomId id;
  std::shared_ptr<const GenerationRequest> request;
  Sample* sample;
  RouterLeg prefill;  // the same peer as decode on an aggregated rank
  RouterLeg decode;
  TimePoint arrived;
  TimePoint deadline;
  EventOrder events;
  bool prefill_open = true;  // the prefill leg still has work: its prompt is that rank's load

  RouterRoom(RoomId id_in, std::shared_ptr<const GenerationRequest> request_in, Sample& sample_in, RouterLeg prefill_in,
             RouterLeg decode_in, TimePoint arrived_in, TimePoint deadline_in)
      : id(id_in),
        request(std::move(request_in)),
        sample(&sample_in),
        prefill(prefill_in),
        decode(decode_in),
        arrived(arrived_in),
        deadline(deadline_in),
        events(std::uint64_t{request->stop.max_tokens} + 1) {}

  bool aggregated() const noexcept { return prefill.peer == decode.peer; }
  bool needs(const PeerId& peer) const noexcept {
    return decode.peer == peer || (prefill_open && prefill.peer == peer);
  }
  std::uint64_t prefill_tokens() const { return request->prompt.size() - prefill.cached_tokens; }
  std::uint64_t decode_tokens() const {
    return request->prompt.size() + request->stop.max_tokens - decode.cached_tokens;
  }
};

}  // namespace baton
