// One request on a prefill rank, from its job's arrival until no write of its can land any more.
//
//   bootstrap --landing--> waiting --last chunk computed--> inflight --target counted everything--> over
//
// A room is in exactly one of the rank's queues, which its state names. It fails at most once: the first cause stays.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/kv/kv_lease.h"
#include "roles/messages.h"
#include "runtime/mutants.h"
#include "runtime/pulse.h"
#include "transport/transport.h"

namespace baton {

struct PrefillRoom {
  enum class State : std::uint8_t { bootstrap, waiting, inflight };

  Job job;
  State state = State::bootstrap;
  std::optional<Failure> failure;
  bool in_step = false;  // the engine is writing its pages: neither they nor the room may go

  std::unique_ptr<Outgoing> outgoing;  // from the landing on
  std::byte* arena = nullptr;          // where the pages below are
  KvLease lease;                       // the rank's own pages, where the target's arena cannot be computed into
  std::vector<PageId> pages;           // what the engine writes: the lease's, or the landing's themselves

  std::uint32_t computed = 0;      // prompt tokens whose keys and values are in the pages
  std::uint32_t cached = 0;        // of these, tokens whose pages came out of the prefix cache
  std::uint32_t landing_page = 0;  // of pages, the first one that the target wants
  std::uint32_t pushed_pages = 0;  // of pages, those that the target has, from the first one on
  std::uint32_t chunks = 0;        // steps taken so far
  std::vector<TokenId> banned;     // what the first token may not be
  std::optional<SampledToken> first;

  TimePoint landed{};      // the landing was there
  TimePoint first_step{};  // its first step began
  TimePoint finished{};    // its last step ended
  Pulse progress;          // wakes send_room: computed grew, a step ended, or it failed

  PrefillRoom(Context& context, Job job_in) : job(std::move(job_in)), progress(context, "prefill room") {}

  std::span<const TokenId> prompt() const noexcept { return job.request->prompt; }
  std::uint32_t prompt_tokens() const noexcept { return static_cast<std::uint32_t>(job.request->prompt.size()); }
  std::uint32_t remaining() const noexcept { return prompt_tokens() - computed; }

  // Pages that hold their final bytes: whole ones, and the tail page once the whole prompt is computed.
  std::uint32_t final_pages(std::uint32_t page_tokens) const noexcept {
    const std::uint32_t begun = mutant(Mutant::prefill_pushes_partial_page) ? page_tokens - 1 : 0;
    return remaining() == 0 ? static_cast<std::uint32_t>(pages.size()) : (computed + begun) / page_tokens;
  }
};

}  // namespace baton
