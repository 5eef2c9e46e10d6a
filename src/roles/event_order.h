// Puts the events of one room back into the order of their numbers: what comes twice is dropped, what comes too early
// waits. It holds no more than the room can ever have. A gap that nobody fills is the deadline's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "roles/generation.h"
#include "runtime/mutants.h"

namespace baton {

class EventOrder final {
 public:
  // events_max: how many the room can have; numbers from there on are dropped.
  explicit EventOrder(std::uint64_t events_max) : events_max_(events_max) {}

  void add(std::uint32_t number, GenerationEvent event) {
    const bool at_once = (number < next_ && mutant(Mutant::router_takes_events_twice)) ||
                         (number > next_ && mutant(Mutant::router_takes_events_unordered));
    number = at_once ? next_ : number;
    if (number >= next_ && number < events_max_) {
      early_.try_emplace(number, std::move(event));
    }
  }

  // The next event in order, if it is there.
  std::optional<GenerationEvent> take() {
    const auto first = early_.begin();
    if (first == early_.end() || first->first != next_) {
      return std::nullopt;
    }
    ++next_;
    return std::move(early_.extract(first).mapped());
  }

  std::size_t waiting() const noexcept { return early_.size(); }

 private:
  std::uint64_t events_max_;
  std::uint32_t next_ = 0;
  std::map<std::uint32_t, GenerationEvent> early_;
};

}  // namespace baton
