#include "roles/policy/admission.h"

#include <algorithm>

#include "runtime/mutants.h"

namespace baton::policy {
namespace {

// Pages that active requests are still expected to take.
std::uint64_t growth_pages(std::span<const ActiveRequest> active, const AdmissionLimits& limits) {
  std::uint64_t pages = 0;
  for (const ActiveRequest& request : active) {
    const std::uint32_t expected = expected_pages(request.tokens, request.tokens_max, limits);
    pages += expected > request.pages ? expected - request.pages : 0;
  }
  return pages;
}

// Serves sizes in order from a budget; alone, the first only has to fit without lookahead.
template <class Request>
std::size_t take_in_order(std::span<const Request> queue, std::uint64_t budget, std::uint64_t free, bool alone,
                          std::size_t places, const AdmissionLimits& limits) {
  std::size_t taken = 0;
  while (taken < queue.size() && taken < places) {
    const Request& next = queue[taken];
    const std::uint32_t need = expected_pages(next.tokens, next.tokens_max, limits) - next.pages_shared;
    const std::uint32_t least = pages_for(std::uint64_t{next.tokens} + 1, limits.page_tokens) - next.pages_shared;
    const bool fits = need <= budget || (alone && taken == 0 && least <= free);
    if (!fits) {
      break;
    }
    budget -= std::min<std::uint64_t>(budget, need);
    ++taken;
  }
  return taken;
}

std::uint64_t budget_after(std::span<const ActiveRequest> active, std::uint32_t free_pages,
                           const AdmissionLimits& limits) {
  const std::uint64_t growth = growth_pages(active, limits);
  return free_pages > growth ? free_pages - growth : 0;
}

std::size_t places_left(std::span<const ActiveRequest> active, const AdmissionLimits& limits) {
  return limits.active_max > active.size() ? limits.active_max - active.size() : 0;
}

}  // namespace

std::uint32_t pages_for(std::uint64_t tokens, std::uint32_t page_tokens) noexcept {
  return static_cast<std::uint32_t>((tokens + page_tokens - 1) / page_tokens);
}

std::uint32_t expected_pages(std::uint32_t tokens, std::uint32_t tokens_max, const AdmissionLimits& limits) noexcept {
  const std::uint64_t expected = std::min<std::uint64_t>(std::uint64_t{tokens} + limits.lookahead_tokens, tokens_max);
  return pages_for(std::max<std::uint64_t>(expected, tokens), limits.page_tokens);
}

bool fits_empty_pool(const WaitingRequest& request, std::uint32_t capacity_pages, std::uint32_t page_tokens) noexcept {
  return pages_for(request.tokens_max, page_tokens) <= capacity_pages;
}

std::size_t admit(std::span<const WaitingRequest> waiting, std::span<const ActiveRequest> active,
                  std::span<const ActiveRequest> retracted, std::uint32_t free_pages, const AdmissionLimits& limits) {
  if (!retracted.empty() && !mutant(Mutant::admission_ignores_retracted)) {
    return 0;
  }
  return take_in_order(waiting, budget_after(active, free_pages, limits), free_pages, active.empty(),
                       places_left(active, limits), limits);
}

std::size_t resume(std::span<const ActiveRequest> retracted, std::span<const ActiveRequest> active,
                   std::uint32_t free_pages, const AdmissionLimits& limits) {
  return take_in_order(retracted, budget_after(active, free_pages, limits), free_pages, active.empty(),
                       places_left(active, limits), limits);
}

bool step_is_full(std::uint64_t uncomputed, std::uint32_t running, std::uint32_t step_tokens) noexcept {
  return uncomputed > 0 && uncomputed + running >= step_tokens;
}

}  // namespace baton::policy
