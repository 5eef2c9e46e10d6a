// What the two sides of a hand-over tell each other: where to write, and what stands beside the pages.
//
//   decode  --Landing-->  prefill      "write this room's pages here"      (travels with the roles' control messages)
//   decode  <--SideRecord--  prefill   "this is what you have got, and the first token"    (travels with the pages)
//
// Plain values with a byte form of their own (wire.h), so that they cross a process or a node unchanged.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/text/sampling.h"
#include "runtime/ids.h"

namespace baton {

// One rank in one life: a rank that was started again at the same place is a different peer.
struct PeerId {
  RankId rank;
  InstanceId instance;
  friend constexpr auto operator<=>(const PeerId&, const PeerId&) = default;
};

// Names one hand-over everywhere. Rooms are drawn once per attempt, and the instance is the receiver's, so an id is
// never met again in another life of the same rank.
struct TransferId {
  InstanceId target;
  RoomId room;
  friend constexpr auto operator<=>(const TransferId&, const TransferId&) = default;
};

std::string to_string(const PeerId& peer);    // "prefill/0"; the instance is left out for people
std::string to_string(const TransferId& id);  // the room; the instance is left out for people

inline constexpr std::uint32_t kTransferPagesMax = 1U << 20;  // more in one message is hostile or a bug

// "Write here." Made by KvReceiver::expect, handed to the sender by the roles, opened by KvSender::open.
struct Landing {
  TransferId id;
  PeerId target;                         // the receiving rank
  PeerId source;                         // the only rank that may write
  std::uint64_t layout_fingerprint = 0;  // KvLayout::fingerprint of the target's arena
  std::uint64_t model_hash = 0;          // equal weights on both sides, by the loader's hash
  std::uint32_t prompt_tokens = 0;       // positions the target wants in the end, prefix included
  std::uint32_t first_position = 0;      // the first one to be written; the target already has what is before
  std::vector<PageId> pages;             // pages[i] holds positions first_position + i * page_tokens and on
  std::uint64_t memory_key = 0;          // the backend's name for the target's memory; opaque to everyone else
  std::vector<PageId> found_pages;       // hold the positions before first_position: to be read where that is possible

  Landing() = default;
  Landing(TransferId id_in, PeerId target_in, PeerId source_in, std::uint64_t layout_fingerprint_in,
          std::uint64_t model_hash_in, std::uint32_t prompt_tokens_in, std::uint32_t first_position_in,
          std::vector<PageId> pages_in, std::uint64_t memory_key_in)
      : id(id_in),
        target(target_in),
        source(source_in),
        layout_fingerprint(layout_fingerprint_in),
        model_hash(model_hash_in),
        prompt_tokens(prompt_tokens_in),
        first_position(first_position_in),
        pages(std::move(pages_in)),
        memory_key(memory_key_in) {}
  friend bool operator==(const Landing&, const Landing&) = default;
};

// What prefill's share of the request took; durations, because clocks of two nodes are not comparable.
struct PrefillTimes {
  std::int64_t waiting_ns = 0;     // from the landing to the first step
  std::int64_t compute_ns = 0;     // from there to the end of the last step
  std::int64_t pushing_ns = 0;     // from the end of the last step to the last page being applied
  std::uint32_t chunks = 0;        // steps the prompt took
  std::uint64_t copied_bytes = 0;  // of pages written to the target; zero where the engine wrote them in place
  friend bool operator==(const PrefillTimes&, const PrefillTimes&) = default;
};

// The other half of a hand-over: what is not in the pages. Prefill fills in all but id, pages_total and writes_total,
// which Outgoing::finish sets from what was really opened and written.
struct SideRecord {
  TransferId id;                    // the echo: a record of another room never passes for this one's
  std::uint32_t prompt_tokens = 0;  // echoed too; must equal the landing's
  std::uint32_t pages_total = 0;
  std::uint32_t writes_total = 0;   // writes that the receiver must have counted
  SampledToken first;               // the token that the last prompt position gave, not yet checked for its end
  std::uint32_t cached_tokens = 0;  // prompt tokens that prefill found in its prefix cache
  PrefillTimes times;

  SideRecord() = default;
  SideRecord(std::uint32_t prompt_tokens_in, SampledToken first_in, std::uint32_t cached_tokens_in,
             PrefillTimes times_in)
      : prompt_tokens(prompt_tokens_in), first(std::move(first_in)), cached_tokens(cached_tokens_in), times(times_in) {}
  friend bool operator==(const SideRecord&, const SideRecord&) = default;
};

}  // namespace baton

template <>
struct std::hash<baton::PeerId> {
  std::size_t operator()(const baton::PeerId& peer) const noexcept;
};

template <>
struct std::hash<baton::TransferId> {
  std::size_t operator()(const baton::TransferId& id) const noexcept;
};
