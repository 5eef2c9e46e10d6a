// What a front end (HTTP, CLI, trace replay) asks for and what it gets back: the seam above the router.
//
//   front end --GenerationRequest--> Generator (router) --TokenEvent...FinishEvent--> front end
//
// Everything here lives on the front's context. One request is one sample: n samples are n requests, each with a
// room of its own. Every generation ends in exactly one FinishEvent, whatever fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/text/sampling.h"
#include "roles/prompt.h"
#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/task.h"
#include "runtime/time.h"

namespace baton {

struct StopConditions {
  std::uint32_t max_tokens = 16;
  std::uint32_t min_tokens = 0;           // end of text and stop tokens are not drawn before
  std::vector<TokenId> stop_token_ids;    // besides the model's own end-of-text ids
  std::vector<std::string> stop_strings;  // at most 64, none empty: checked by the front end
  bool include_stop_string = false;
  bool ignore_eos = false;
  bool skip_special_tokens = true;
};

struct GenerationRequest {
  Prompt prompt;  // at least one token, all inside the vocabulary: checked by the router
  SamplingParams sampling;
  StopConditions stop;
  Duration time_limit{0};  // zero: the node's default. One deadline for both legs, set on arrival
  std::string client_id;   // for logs only; never an internal id

  // Names of the prompt's whole pages (model/kv/prefix_keys.h), by which prefix caches know them. Empty: the router
  // makes them where there is a cache. A front end that sets them knows the ranks' page size, and sets them for all.
  std::vector<std::uint64_t> prefix;
  std::string cache_salt;  // requests with different salts share no cached prefix

  GenerationRequest() = default;
};

// One generated token. `text` may be empty while a character or a possible stop string is incomplete.
struct TokenEvent {
  SampledToken token;
  std::string text;

  TokenEvent() = default;
  TokenEvent(SampledToken token_in, std::string text_in) : token(std::move(token_in)), text(std::move(text_in)) {}
};

// Several tokens of one sample, where tokens have no text (TextRules without a tokenizer) and an engine took rounds.
// ids[i] was there at (*ends)[i], which lies in the past when the event comes.
struct TokensEvent {
  std::vector<TokenId> ids;
  std::shared_ptr<const std::vector<TimePoint>> ends;  // shared by the samples of one batch

  TokensEvent(std::vector<TokenId> ids_in, std::shared_ptr<const std::vector<TimePoint>> ends_in)
      : ids(std::move(ids_in)), ends(std::move(ends_in)) {}
};

enum class FinishReason : std::uint8_t { stop, length, failure };

// Where the time of a request went. The stages follow each other without gaps, so they sum to the total.
enum class Stage : std::uint8_t {
  route,             // arrival at the router until both ranks have it
  wait_decode_slot,  // until decode has reserved pages and published the landing
  queue_prefill,     // until the first prefill step starts
  prefill,           // first step's start until the first token is known
  transfer_exposed,  // what of the transfer was left after that, until decode has the verdict
  queue_decode,      // until the request joined the running batch
  decode,            // until the last token
  deliver,           // until the front end took the finish event
};
inline constexpr std::size_t kStageCount = 8;
const char* to_string(Stage stage) noexcept;

struct Timeline {
  std::array<Duration, kStageCount> stages{};
  Duration total{0};
  Duration first_token{0};        // arrival at the router until the first token event was there
  RankId prefill{};               // who computed the prompt
  RankId decode{};                // who generated
  std::uint32_t chunks = 0;       // prefill steps the prompt took
  std::uint32_t pages = 0;        // pages handed over
  std::uint64_t moved_bytes = 0;  // bytes copied by the hand-over; zero where pages are shared
  std::uint32_t retractions = 0;

  Duration& operator[](Stage stage) noexcept { return stages[static_cast<std::size_t>(stage)]; }
  Duration operator[](Stage stage) const noexcept { return stages[static_cast<std::size_t>(stage)]; }
};

struct Usage {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t completion_tokens = 0;
  std::uint32_t cached_tokens = 0;  // prefix tokens not recomputed anywhere; at most prompt_tokens
};

// The one end of a generation.
struct FinishEvent {
  FinishReason reason = FinishReason::failure;
  std::string text;                        // text that was still held back
  std::optional<std::string> stop_string;  // the one that matched
  std::optional<TokenId> stop_token;       // the one that was drawn (its TokenEvent is not sent)
  std::optional<Failure> failure;          // set exactly when reason is failure
  Usage usage;
  Timeline timeline;

  FinishEvent() = default;
  explicit FinishEvent(Failure failure_in) : failure(std::move(failure_in)) {}
};

using GenerationEvent = std::variant<TokenEvent, FinishEvent, TokensEvent>;

// One running sample. Owned by the front end; destroying it before the FinishEvent aborts it on both legs.
class Generation {
 public:
  virtual ~Generation() = default;

  // Completes with the next event in order; nothing after the FinishEvent was taken. When cancelled nothing is lost:
  // a later call gets the event.
  virtual Task<std::optional<GenerationEvent>> next() = 0;

  // Asks both legs to stop. The FinishEvent (failure, Errc::aborted) still comes, without waiting for the ranks.
  virtual void abort() noexcept = 0;
};

enum class ServiceState : std::uint8_t { starting, usable, draining };

class Generator {
 public:
  virtual ~Generator() = default;

  // Never blocks and never throws for what the request holds: a refusal is a FinishEvent with its Failure.
  virtual std::unique_ptr<Generation> start(GenerationRequest request) = 0;

  virtual ServiceState state() const noexcept = 0;
  virtual std::uint32_t max_context() const noexcept = 0;  // prompt and output together, in tokens
};

}  // namespace baton
