#include "roles/policy/retraction.h"

#include <algorithm>

namespace baton::policy {
namespace {

// Indices of those who can be retracted, the first to go first.
std::vector<std::size_t> victim_order(std::span<const RetractionCandidate> running, Victims victims) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (running[i].retractable) {
      order.push_back(i);
    }
  }
  if (victims == Victims::latest) {
    std::reverse(order.begin(), order.end());
    return order;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const RetractionCandidate& left = running[a];
    const RetractionCandidate& right = running[b];
    if (left.output_tokens != right.output_tokens) {
      return left.output_tokens < right.output_tokens;
    }
    if (left.prompt_tokens != right.prompt_tokens) {
      return left.prompt_tokens > right.prompt_tokens;
    }
    return a > b;
  });
  return order;
}

}  // namespace

std::vector<std::size_t> choose_victims(std::span<const RetractionCandidate> running, std::uint32_t free_pages,
                                        Victims order) {
  std::uint64_t wanted = 0;
  for (const RetractionCandidate& candidate : running) {
    wanted += candidate.pages_wanted;
  }
  std::vector<std::size_t> victims;
  std::uint64_t free = free_pages;
  for (const std::size_t index : victim_order(running, order)) {
    if (wanted <= free || victims.size() + 1 >= running.size()) {
      break;
    }
    free += running[index].pages;
    wanted -= running[index].pages_wanted;
    victims.push_back(index);
  }
  return victims;
}

std::vector<std::size_t> choose_one_victim(std::span<const RetractionCandidate> running, Victims victims) {
  const std::vector<std::size_t> order = victim_order(running, victims);
  if (order.empty() || running.size() < 2) {
    return {};
  }
  return {order.front()};
}

}  // namespace baton::policy
