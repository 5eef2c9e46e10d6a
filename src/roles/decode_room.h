// One request on a decode rank, from its job's arrival to its last token.
//
//   prealloc --pages--> transfer --verdict, first token--> ready --> running --> over
//                                                            ^          |
//                                                            +-retracted+   (pages ran out)
//
// On an aggregated rank transfer is left out: the rank computes the prompt itself while running. A room is in exactly
// one queue, which its state names, and fails at most once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/kv/kv_lease.h"
#include "roles/host_copy.h"
#include "roles/messages.h"
#include "roles/output.h"
#include "transport/transport.h"

namespace baton {

struct DecodeRoom {
  enum class State : std::uint8_t { prealloc, transfer, ready, running, retracted };

  Job job;
  State state = State::prealloc;
  std::optional<Failure> failure;
  bool busy = false;          // a step or a copy is using its pages: neither they nor the room may go
  std::uint32_t in_step = 0;  // rows of the step under way

  KvLease lease;
  HostCopy backup;  // while retracted
  Output output;
  std::uint32_t computed = 0;   // tokens whose keys and values are in the pages
  std::vector<TokenId> again;   // prompt and output so far, while they are computed once more
  std::vector<TokenId> banned;  // what the next token may not be, while a step uses it

  TimePoint known{};                 // the job was there
  std::optional<TimePoint> landed;   // pages were reserved
  std::optional<TimePoint> verdict;  // the hand-over was complete (aggregated: the first token was there)
  std::optional<TimePoint> joined;   // it took part in the first decode step
  PrefillTimes prefill;              // as the prefill rank measured them
  std::uint32_t cached_tokens = 0;
  std::uint32_t chunks = 0;
  std::uint32_t pages_handed_over = 0;
  std::uint32_t retractions = 0;
  std::uint32_t events = 0;  // said to the router so far

  DecodeRoom(Job job_in, const TextRules& rules) : job(std::move(job_in)), output(*job.request, rules) {}

  std::span<const TokenId> prompt() const noexcept { return job.request->prompt; }
  std::uint32_t tokens() const noexcept {
    return static_cast<std::uint32_t>(job.request->prompt.size() + output.tokens().size());
  }
  std::uint32_t tokens_max() const noexcept {
    return static_cast<std::uint32_t>(job.request->prompt.size()) + job.request->stop.max_tokens;
  }
  std::uint32_t remaining() const noexcept { return tokens() - computed; }
  // Rows it may have in a step formed now: those that no step under way has, or the one of the token it brings.
  std::uint32_t remaining_next() const noexcept { return std::max(remaining() - in_step, in_step > 0 ? 1U : 0U); }

  // Its prompt's keys and values are still another rank's business.
  bool needs_prefill() const noexcept {
    return job.prefill != job.decode && (state == State::prealloc || state == State::transfer);
  }

  // The next `rows` tokens to compute; cut at the end of the prompt, so that they are one run of memory.
  std::span<const TokenId> next_tokens(std::uint32_t rows) const noexcept;

  // Where the time went until `now`, in stages that follow each other without gaps.
  Timeline timeline(TimePoint now) const;
};

}  // namespace baton
