#include "sim/chaos/chronicle.h"

#include <algorithm>

#include "runtime/random.h"

namespace baton::chaos {

std::uint64_t fold(std::uint64_t digest, std::uint64_t value) noexcept {
  std::uint64_t state = digest ^ value;
  return splitmix64(state);
}

void Chronicle::blame(const char* rule, std::string message, RoomId room) {
  if (!violation_) {
    violation_ = Violation{rule, std::move(message), clock_.now(), request_of(room), room.value};
  }
}

void Chronicle::blame_request(const char* rule, std::string message, std::uint32_t request) {
  RoomId room;
  for (const auto& [id, owner] : requests_) {
    room = owner == request ? std::max(room, id) : room;  // the greatest, so that the map's order says nothing
  }
  if (!violation_) {
    violation_ = Violation{rule, std::move(message), clock_.now(), request, room.value};
  }
}

void Chronicle::injected(const InjectedFault& fault, RoomId room) {
  ++fault_counts_[static_cast<std::size_t>(fault.fault)];
  faults_.push_back(fault);
  trace_.record(clock_.now(), fault.from, to_string(fault.fault), room.value, static_cast<std::uint64_t>(fault.to.role),
                fault.to.index);
}

void Chronicle::sent(RankId from, RankId to, Traffic traffic, RoomId room) {
  ++messages_;
  const std::uint64_t way = (static_cast<std::uint64_t>(from.role) << 56) | (std::uint64_t{from.index} << 40) |
                            (static_cast<std::uint64_t>(to.role) << 32) | (std::uint64_t{to.index} << 16) |
                            static_cast<std::uint64_t>(traffic);
  digest_ = fold(fold(digest_, way + static_cast<std::uint64_t>(clock_.now().time_since_epoch().count())), room.value);
}

std::optional<std::uint32_t> Chronicle::request_of(RoomId room) const {
  const auto found = requests_.find(room);
  return found == requests_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::pair<std::uint64_t, std::uint32_t>> Chronicle::rooms() const {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> all;
  for (const auto& [room, request] : requests_) {
    all.emplace_back(room.value, request);
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace baton::chaos
