// Names of things that cross a rank, as types of their own, so that a page number never passes for a token.
//
// Ids are drawn inside baton. An id that a client or a peer sent is data, never one of these.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace baton {

// A number with a type of its own. Tag is only a name; Int is what travels.
template <class Tag, class Int>
struct StrongId {
  Int value{};
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

using RoomId = StrongId<struct RoomTag, std::uint64_t>;        // one hand-over attempt of one sample
using RequestId = StrongId<struct RequestTag, std::uint64_t>;  // one sample of one client request, as the router counts

using PageId = std::uint32_t;  // index of a page inside one arena; an index, used in arrays and kernels as it is
using TokenId = std::int32_t;  // index in the vocabulary; never negative once admitted

// One start of one process (or of one simulated rank): a restart at the same address is a different instance.
struct InstanceId {
  std::uint64_t high{};
  std::uint64_t low{};
  friend constexpr auto operator<=>(const InstanceId&, const InstanceId&) = default;
};

enum class Role : std::uint8_t { router, prefill, decode, aggregated };

// Which rank of which kind: stable for the life of the process, index counted from zero within the role.
struct RankId {
  Role role{};
  std::uint32_t index{};
  friend constexpr auto operator<=>(const RankId&, const RankId&) = default;
};

const char* to_string(Role role) noexcept;
std::string to_string(RankId rank);          // "prefill/0"
std::string to_string(RoomId room);          // 16 hexadecimal digits
std::string to_string(InstanceId instance);  // 32 hexadecimal digits

}  // namespace baton

template <class Tag, class Int>
struct std::hash<baton::StrongId<Tag, Int>> {
  std::size_t operator()(const baton::StrongId<Tag, Int>& id) const noexcept { return std::hash<Int>{}(id.value); }
};
