// Which waiting requests decode reserves pages for now. A pure function of the pool and the queues, shared by the
// server and the simulator.
//
// A request is admitted with the pages of its prompt plus room to grow. Room for the growth of those already admitted
// is set aside first, so that running requests are rarely retracted; retraction stays the answer when outputs turn
// out longer. The queue is served in order and stops at the first that does not fit: nobody starves behind small ones.
#pragma once

#include <cstdint>
#include <span>

namespace baton::policy {

struct AdmissionLimits {
  std::uint32_t page_tokens = 16;
  std::uint32_t lookahead_tokens = 128;  // growth set aside for each active request (SGLang reserves 512, vLLM none)
  std::uint32_t active_max = 64;         // requests that hold pages or a landing at one time
};

// One request that holds pages (transferring, ready or running) or is to get its pages back (retracted).
struct ActiveRequest {
  std::uint32_t tokens = 0;        // prompt and output so far
  std::uint32_t tokens_max = 0;    // prompt and the most it may produce
  std::uint32_t pages = 0;         // held now; zero for a retracted one
  std::uint32_t pages_shared = 0;  // of a retracted one: pages that others hold and it may use as well
};

struct WaitingRequest {
  std::uint32_t tokens = 0;        // prompt
  std::uint32_t tokens_max = 0;    // prompt and the most it may produce
  std::uint32_t pages_shared = 0;  // pages of its prompt that others hold and it may use as well
};

std::uint32_t pages_for(std::uint64_t tokens, std::uint32_t page_tokens) noexcept;

// Pages a request is expected to hold soon: its tokens and the lookahead, but never more than it may produce.
std::uint32_t expected_pages(std::uint32_t tokens, std::uint32_t tokens_max, const AdmissionLimits& limits) noexcept;

// True if the request, alone in an empty pool, could run to its limit. Everything else is refused on arrival, so that
// whatever is queued can be served in the end.
bool fits_empty_pool(const WaitingRequest& request, std::uint32_t capacity_pages, std::uint32_t page_tokens) noexcept;

// How many from the head of `waiting` to admit now. Retracted requests come first: while one of them does not fit,
// nobody new is admitted. With nothing active, the head is admitted whenever its prompt and one token fit.
std::size_t admit(std::span<const WaitingRequest> waiting, std::span<const ActiveRequest> active,
                  std::span<const ActiveRequest> retracted, std::uint32_t free_pages, const AdmissionLimits& limits);

// How many from the head of `retracted` may come back now.
std::size_t resume(std::span<const ActiveRequest> retracted, std::span<const ActiveRequest> active,
                   std::uint32_t free_pages, const AdmissionLimits& limits);

// On a rank that computes prompts itself: whether the prompts that were admitted fill the next step, so that one more
// would hold pages and gain nothing by it, and look too early for what the cache may have when its turn comes.
// `uncomputed` are their tokens without keys and values, `running` the sequences of the step that take one row each.
bool step_is_full(std::uint64_t uncomputed, std::uint32_t running, std::uint32_t step_tokens) noexcept;

}  // namespace baton::policy
