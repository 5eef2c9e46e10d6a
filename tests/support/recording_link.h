// A control link that delivers nothing and keeps what a rank or the router under test says to others.
#pragma once

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "roles/control_link.h"

namespace baton::test {

class RecordingLink final : public ControlLink {
 public:
  void post(RankId to, RankMessage message) override { sent.emplace_back(to, std::move(message)); }

  void post_router(RankId router, RouterMessage message) override {
    routers.push_back(router);
    if (auto* failed = std::get_if<LegFailed>(&message)) {
      failures.push_back(std::move(*failed));
    } else if (auto* batch = std::get_if<RoomEvents>(&message)) {
      for (RoomEvent& event : batch->events) {
        events.push_back(std::move(event));
      }
    } else if (std::holds_alternative<PrefillDone>(message)) {
      ++done;
    } else {
      ++heartbeats;
    }
  }

  // All messages of one kind to ranks, in the order they were posted.
  template <class Message>
  std::vector<Message> messages() const {
    std::vector<Message> found;
    for (const auto& [to, message] : sent) {
      if (const auto* body = std::get_if<Message>(&message)) {
        found.push_back(*body);
      }
    }
    return found;
  }

  // And whom they went to.
  template <class Message>
  std::vector<RankId> receivers() const {
    std::vector<RankId> found;
    for (const auto& [to, message] : sent) {
      if (std::holds_alternative<Message>(message)) {
        found.push_back(to);
      }
    }
    return found;
  }

  std::vector<std::pair<RankId, RankMessage>> sent;
  std::vector<RankId> routers;      // to whom each message to a router went
  std::vector<LegFailed> failures;  // told to the router
  std::vector<RoomEvent> events;    // likewise
  std::size_t done = 0;             // prefill's word that a room is complete
  std::size_t heartbeats = 0;
};

}  // namespace baton::test
