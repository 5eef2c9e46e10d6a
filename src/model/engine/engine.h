// The seam between scheduling and computing: one forward step of a batch.
//
//   roles (prefill, decode, aggregated)  --StepBatch-->  Engine  --StepOutput-->  roles
//
// Prefill chunks and decode steps are the same thing: rows of tokens whose keys and values go into given pages. An
// engine holds no request state, so a sequence may be computed by one rank and continued by another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/engine/rounds.h"
#include "model/kv/kv_layout.h"
#include "model/text/sampling.h"
#include "runtime/ids.h"
#include "runtime/task.h"

namespace baton {

// One sequence's share of a step: `tokens` sit at positions [position, position + tokens.size()), and the keys and
// values of [0, position) are already in the pages. All spans and pointers belong to the role and stay valid and
// unchanged until the step has completed.
struct StepSequence {
  std::span<const TokenId> tokens;
  std::uint32_t position = 0;
  std::byte* arena = nullptr;     // base of the arena the pages are in; sequences of one step may use several
  std::span<const PageId> pages;  // page table from position 0; covers position + tokens.size()
  const SamplingParams* sampling = nullptr;  // null: only keys and values are wanted (a chunk that is not the last)
  TokenHistory history;             // for penalties; `position + tokens.size()` is the sampled token's position
  std::span<const TokenId> banned;  // token ids that must not be drawn now (end of text before min_tokens)
};

struct StepBatch {
  std::vector<StepSequence> sequences;
  bool urgent = false;       // decode steps go first where ranks share compute
  Rounds* rounds = nullptr;  // set where the engine may take several steps; see Engine::takes_rounds
};

// sampled[i] belongs to sequences[i]; empty where no sampling was asked for, and where nothing could be drawn (every
// logit is NaN, or everything is banned): that request has failed, the others of the step have not. Not used where the
// engine took rounds.
//
// more[i]: the tokens after sampled[i], where an engine that drafts verified several; empty altogether where it did
// not. Their keys and values are computed but for the last one's, as always.
struct StepOutput {
  std::vector<std::optional<SampledToken>> sampled;
  std::vector<std::vector<SampledToken>> more;
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Computes one step. Completes on the caller's context when all rows are done and all pages written; other threads
  // do the work. Cancellation does not interrupt it: the caller waits for the end, because pages are being written.
  // Throws Error(Errc::internal) when the device failed; the pages' contents are then undefined.
  virtual Task<StepOutput> step(StepBatch batch) = 0;

  // Whether it makes use of StepBatch::rounds: plans rounds, completes with the end of the last one, and ends early
  // when they are cut. An engine that does not is never asked to.
  virtual bool takes_rounds() const noexcept { return false; }

  // Tokens that it drafts by itself in each decode step of a sequence, to verify them in the same step. The pages of a
  // sequence then cover so many positions more, unless it ends before them.
  virtual std::uint32_t drafts() const noexcept { return 0; }

  // Completes when another step could begin at once, although steps are under way: the first stage of a pipeline is
  // free. For ranks that keep several steps in flight, so that they do not form a batch before its time.
  virtual Task<> can_begin() { co_return; }

  // Completes when a copy of so many bytes between its memory and the host's, in either direction, would be over. Asked
  // where pages exist in the books alone, so that there is nothing to copy: a simulated engine takes the time.
  virtual Task<> host_copy(std::uint64_t /*bytes*/) { co_return; }

  virtual const KvLayout& kv_layout() const noexcept = 0;
  virtual std::uint32_t vocab_size() const noexcept = 0;
  virtual std::uint32_t context_length() const noexcept = 0;  // positions the model was made for
};

}  // namespace baton
