// A step of several rounds on a decode rank, while it is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/engine/rounds.h"
#include "roles/decode.h"

namespace baton {

struct DecodeRank::RoundStep {
  std::vector<DecodeRoom*> rooms;  // in the batch's order
  Rounds rounds;
  std::uint32_t accounted = 0;  // rounds whose tokens the rooms have

  // When the rounds from `accounted` up to `until` ended, for the events of all rooms.
  std::shared_ptr<const std::vector<TimePoint>> ends(std::uint32_t until) const {
    const auto begin = rounds.ends().begin();
    return std::make_shared<const std::vector<TimePoint>>(begin + accounted, begin + until);
  }

  RoundStep(std::vector<DecodeRoom*> rooms_in, std::uint32_t most) : rooms(std::move(rooms_in)), rounds(most) {}
};

}  // namespace baton
