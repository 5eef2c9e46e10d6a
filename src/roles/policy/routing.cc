#include "roles/policy/routing.h"

namespace baton::policy {
std::optional<Routing> parse_routing(std::string_view name) noexcept {
  for (const Routing routing : {Routing::round_robin, Routing::random, Routing::least_loaded}) {
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
  }
  return "unknown";
}

std::optional<std::size_t> choose_rank(std::span<const RankLoad> ranks, Routing routing, std::uint64_t turn,
                                       std::uint64_t draw) noexcept {
  if (ranks.empty()) {
    return std::nullopt;
  }
  const std::size_t start = (routing == Routing::random ? draw : turn) % ranks.size();
  std::optional<std::size_t> best;
  for (std::size_t step = 0; step < ranks.size(); ++step) {
    const std::size_t index = (start + step) % ranks.size();
    if (!ranks[index].usable) {
      continue;
    }
    if (routing != Routing::least_loaded) {
      return index;
    }
    if (!best || ranks[index].outstanding_tokens < ranks[*best].outstanding_tokens) {
      best = index;
    }
  }
  return best;
}

}  // namespace baton::policy
