// Which rank of a kind gets the next request. A pure function of what the router has sent out and not got back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace baton::policy {

enum class Routing : std::uint8_t { round_robin, random, least_loaded };

std::optional<Routing> parse_routing(std::string_view name) noexcept;  // "round-robin", "random", "least-loaded"
std::string_view to_string(Routing routing) noexcept;

struct RankLoad {
  std::uint64_t outstanding_tokens = 0;  // prompt tokens (prefill) or prompt and expected output (decode) not done yet
  bool usable = true;
};

// `turn` counts the requests routed so far; `draw` is a random number. Empty when no rank is usable. Least loaded
// breaks ties by turn, so that equal ranks alternate.
std::optional<std::size_t> choose_rank(std::span<const RankLoad> ranks, Routing routing, std::uint64_t turn,
                                       std::uint64_t draw) noexcept;

}  // namespace baton::policy
