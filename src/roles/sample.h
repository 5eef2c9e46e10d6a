// One running sample as the front end holds it: a channel of events that the router fills.
//
// Owned by the front end, known to the router as long as its room is open; both on the front's context. Destroying it
// early aborts the room.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "roles/generation.h"
#include "runtime/channel.h"
#include "runtime/context.h"

namespace baton {

class Router;

class Sample final : public Generation {
 public:
  // The channel holds every event the sample can have, so that a slow front end never holds up a rank.
  Sample(Router& router, Context& context, std::uint32_t tokens_max)
      : router_(router), context_(context), events_(context, "sample events", std::size_t{tokens_max} + 2) {}
  ~Sample() override;

  Task<std::optional<GenerationEvent>> next() override;
  void abort() noexcept override;

  // For the router. deliver() takes the events in order; after the finish event the channel is closed.
  void opened(RoomId room, TimePoint now);
  void deliver(GenerationEvent event);
  void closed() { open_ = false; }

 private:
  Router& router_;
  Context& context_;
  Channel<GenerationEvent> events_;
  RoomId room_;
  TimePoint arrived_{};
  bool open_ = false;  // the router has a room for it
};

}  // namespace baton
