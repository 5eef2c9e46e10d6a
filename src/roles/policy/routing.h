// Which rank of a kind gets the next request. Pure functions of what the router has sent out and not got back.
//
// Nothing here allocates: with a thousand ranks a choice is one walk over their loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace baton::policy {

enum class Routing : std::uint8_t { round_robin, random, least_loaded, power_of_two, prefix_aware };

// "round-robin", "random", "least-loaded", "power-of-two", "prefix-aware"
std::optional<Routing> parse_routing(std::string_view name) noexcept;
std::string_view to_string(Routing routing) noexcept;

struct RankLoad {
  std::uint64_t outstanding_tokens = 0;  // prompt tokens (prefill) or prompt and expected output (decode) not done yet
  bool usable = true;
};

// `turn` counts the requests routed so far; `draw` is a random number. Empty when no rank is usable. Least loaded
// breaks ties by turn, so that equal ranks alternate. Power of two takes the less loaded of two ranks that the draw
// names. Prefix-aware, where no prefix is known, is least loaded.
std::optional<std::size_t> choose_rank(std::span<const RankLoad> ranks, Routing routing, std::uint64_t turn,
                                       std::uint64_t draw) noexcept;

// What a rank is expected to have computed of a request's prompt.
struct PrefixHit {
  std::size_t rank = 0;
  std::uint32_t tokens = 0;
};

// The rank with the best of
//
//   tokens it has of the prompt - max(0, its outstanding tokens - the least outstanding tokens - slack_tokens)
//
// Both sides are tokens of prefill: what the hit saves, and what the request waits longer for it. So a prefix draws its
// requests to where it is, until the queue there costs more than computing it elsewhere, which then has it, too. The
// slack keeps them together through differences too small to matter. Equal ranks: the less loaded one, then by turn.
// `hits` names each rank at most once; ranks it leaves out have nothing.
std::optional<std::size_t> choose_by_prefix(std::span<const RankLoad> ranks, std::span<const PrefixHit> hits,
                                            std::uint64_t slack_tokens, std::uint64_t turn) noexcept;

}  // namespace baton::policy
