#include "sim/chaos/chaos_link.h"

#include <charconv>
#include <utility>

namespace baton::chaos {
namespace {

struct Label {
  Traffic traffic;
  RoomId room;
};

Label label_of(const Job& job) {
  return {Traffic::job, job.room};
}
Label label_of(const Landing& landing) {
  return {Traffic::landing, landing.id.room};
}
Label label_of(const CancelRoom& cancel) {
  return {Traffic::cancel, cancel.room};
}
Label label_of(const LegFailed& failed) {
  return {Traffic::leg_failed, failed.room};
}
Label label_of(const PeersGone&) {
  return {Traffic::peers_gone, {}};
}
Label label_of(const RoomEvents& events) {
  return {Traffic::room_events, events.events.empty() ? RoomId{} : events.events.front().room};
}
Label label_of(const PrefillDone& done) {
  return {Traffic::prefill_done, done.room};
}
Label label_of(const Heartbeat&) {
  return {Traffic::heartbeat, {}};
}

}  // namespace

void ChaosLink::post(RankId to, RankMessage message) {
  if (network_.is_dead(self_)) {
    return;
  }
  look_at(message);
  const Label label = std::visit([](const auto& body) { return label_of(body); }, message);
  network_.send(self_, to, label.traffic, label.room,
                [this, to, message = std::move(message)]() mutable { deliver(to, std::move(message)); });
}

void ChaosLink::post_router(RankId router, RouterMessage message) {
  if (network_.is_dead(self_)) {
    return;
  }
  look_at(message);
  const Label label = std::visit([](const auto& body) { return label_of(body); }, message);
  network_.send(self_, router, label.traffic, label.room,
                [&inner = inner_, router, message = std::move(message)]() mutable {
                  inner.post_router(router, std::move(message));
                });
}

void ChaosLink::deliver(RankId to, RankMessage message) {
  if (const auto* job = std::get_if<Job>(&message)) {
    arrivals_.jobs.try_emplace({to, job->room}, chronicle_.now());
  } else if (const auto* cancel = std::get_if<CancelRoom>(&message)) {
    arrivals_.cancels.try_emplace({to, cancel->room}, chronicle_.now());
  }
  inner_.post(to, std::move(message));
}

void ChaosLink::look_at(const RankMessage& message) {
  if (const auto* job = std::get_if<Job>(&message)) {
    std::uint32_t request = 0;
    const std::string& name = job->request->client_id;
    std::from_chars(name.data(), name.data() + name.size(), request);
    chronicle_.room_of(job->room, request);
  } else if (const auto* landing = std::get_if<Landing>(&message)) {
    ledger_.landing_posted(*landing);
  }
}

void ChaosLink::look_at(const RouterMessage& message) {
  if (const auto* events = std::get_if<RoomEvents>(&message)) {
    for (const RoomEvent& event : events->events) {
      ledger_.first_token(event.room);
    }
  }
}

}  // namespace baton::chaos
