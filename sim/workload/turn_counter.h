// The place of each request in its conversation, for traces that do not number turns. Memory: one entry a session.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace baton::sim {

class TurnCounter final {
 public:
  // 0, 1, 2, ... for each session; always 0 for session 0, which is none.
  std::uint32_t next(std::uint64_t session) { return session == 0 ? 0 : turns_[session]++; }
  bool knows(std::uint64_t session) const { return turns_.contains(session); }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> turns_;
};

}  // namespace baton::sim
