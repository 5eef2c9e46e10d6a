#include "roles/policy/routing.h"

#include <array>

namespace baton::policy {
namespace {

constexpr std::array kRoutings{Routing::round_robin, Routing::random, Routing::least_loaded, Routing::power_of_two,
                               Routing::prefix_aware};

// The first usable rank from `start` on, around the end; `except` is passed over.
std::optional<std::size_t> next_usable(std::span<const RankLoad> ranks, std::size_t start,
                                       std::optional<std::size_t> except = std::nullopt) noexcept {
  std::size_t index = start;
  for (std::size_t left = ranks.size(); left > 0; --left) {
    if (ranks[index].usable && index != except) {
      return index;
    }
    index = index + 1 == ranks.size() ? 0 : index + 1;
  }
  return std::nullopt;
}

std::optional<std::size_t> least_loaded(std::span<const RankLoad> ranks, std::size_t start) noexcept {
  std::optional<std::size_t> best;
  const auto look = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      if (ranks[i].usable && (!best || ranks[i].outstanding_tokens < ranks[*best].outstanding_tokens)) {
        best = i;
      }
    }
  };
  look(start, ranks.size());
  look(0, start);
  return best;
}

std::optional<std::size_t> less_loaded_of_two(std::span<const RankLoad> ranks, std::uint64_t draw) noexcept {
  constexpr std::uint64_t kLow = 0xffffffff;
  const auto one = next_usable(ranks, (draw & kLow) % ranks.size());
  const auto other = next_usable(ranks, (draw >> 32) % ranks.size(), one);
  if (!one || !other) {
    return one;
  }
  return ranks[*other].outstanding_tokens < ranks[*one].outstanding_tokens ? other : one;
}

}  // namespace

std::optional<Routing> parse_routing(std::string_view name) noexcept {
  for (const Routing routing : kRoutings) {
    if (name == to_string(routing)) {
      return routing;
    }
  }
  return std::nullopt;
}

std::string_view to_string(Routing routing) noexcept {
  switch (routing) {
    case Routing::round_robin:
      return "round-robin";
    case Routing::random:
      return "random";
    case Routing::least_loaded:
      return "least-loaded";
    case Routing::power_of_two:
      return "power-of-two";
    case Routing::prefix_aware:
      return "prefix-aware";
  }
  return "unknown";
}

std::optional<std::size_t> choose_rank(std::span<const RankLoad> ranks, Routing routing, std::uint64_t turn,
                                       std::uint64_t draw) noexcept {
  if (ranks.empty()) {
    return std::nullopt;
  }
  switch (routing) {
    case Routing::round_robin:
      return next_usable(ranks, turn % ranks.size());
    case Routing::random:
      return next_usable(ranks, draw % ranks.size());
    case Routing::power_of_two:
      return less_loaded_of_two(ranks, draw);
    case Routing::least_loaded:
    case Routing::prefix_aware:
      break;
  }
  return least_loaded(ranks, turn % ranks.size());
}

std::optional<std::size_t> choose_by_prefix(std::span<const RankLoad> ranks, std::span<const PrefixHit> hits,
                                            std::uint64_t slack_tokens, std::uint64_t turn) noexcept {
  std::optional<std::size_t> best = choose_rank(ranks, Routing::least_loaded, turn, 0);
  if (!best) {
    return std::nullopt;
  }
  const std::uint64_t least = ranks[*best].outstanding_tokens;
  std::int64_t best_score = 0;  // of the least loaded; raised below if it is among the hits
  for (const PrefixHit& hit : hits) {
    if (!ranks[hit.rank].usable) {
      continue;
    }
    const std::uint64_t excess = ranks[hit.rank].outstanding_tokens - least;
    const auto waits = static_cast<std::int64_t>(excess > slack_tokens ? excess - slack_tokens : 0);
    const std::int64_t score = std::int64_t{hit.tokens} - waits;
    const bool lighter = ranks[hit.rank].outstanding_tokens < ranks[*best].outstanding_tokens;
    if (score > best_score || (score == best_score && (lighter || hit.rank == *best))) {
      best = hit.rank;
      best_score = score;
    }
  }
  return best;
}

}  // namespace baton::policy
