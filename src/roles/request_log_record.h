// RequestRecord: what became of one request, as the request log of the server and of the simulator tells it.
//
//   GenerationRequest, TokenEvents, FinishEvent --RecordBuilder--> RequestRecord --> request_log.h, the simulator's
//   report
//
// The times are those of whoever takes the events: what a client would have felt, but for HTTP. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "roles/generation.h"
#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton {

inline constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();  // a time that does not exist

struct RequestRecord {
  std::string id;          // the client's, or of the trace
  double arrival_s = 0.0;  // since the start of the server or of the simulation
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;  // of the prompt, not computed anywhere
  std::uint32_t output_tokens = 0;
  FinishReason reason = FinishReason::failure;
  std::optional<Errc> error;    // set exactly when reason is failure
  std::string error_origin;     // "decode/1", "router"
  double ttft_ms = kNoTime;     // arrival to the first token; none without a token
  double tpot_ms = kNoTime;     // (e2e - ttft) / (output tokens - 1); none below two tokens
  double itl_max_ms = kNoTime;  // the longest gap between two tokens; none below two tokens
  double e2e_ms = 0.0;          // arrival to the end
  std::array<double, kStageCount> stages_ms{};
  std::optional<RankId> prefill;  // who computed the prompt; none if nobody was asked
  std::optional<RankId> decode;
  std::uint32_t chunks = 0;
  std::uint32_t pages = 0;
  std::uint64_t moved_bytes = 0;
  std::uint32_t retractions = 0;

  bool ok() const noexcept { return reason != FinishReason::failure; }
  double stage_ms(Stage stage) const noexcept { return stages_ms[static_cast<std::size_t>(stage)]; }
};

// Exact for durations that a double of nanoseconds holds; a whole number of nanoseconds prints with six decimals.
double milliseconds_of(Duration duration) noexcept;

// Builds one record from what a front end sees. A value.
class RecordBuilder final {
 public:
  // epoch: what arrival_s counts from.
  RecordBuilder(std::string id, std::uint32_t prompt_tokens, TimePoint arrived, TimePoint epoch);

  // A token was taken. Gives the time since the last one; nullopt for the first.
  std::optional<Duration> token(TimePoint now) noexcept;

  // Several were taken, which came at these times; at least one.
  void tokens(std::span<const TimePoint> times) noexcept;

  // The record of a request that ended with this event.
  RequestRecord finish(const FinishEvent& event, TimePoint now) const;

  // The record of a request whose front end let go of it before its end.
  RequestRecord give_up(TimePoint now) const;

 private:
  std::string id_;
  std::uint32_t prompt_tokens_;
  TimePoint arrived_;
  TimePoint epoch_;
  TimePoint first_{};
  TimePoint last_{};
  Duration gap_max_{0};
  std::uint32_t tokens_ = 0;
};

}  // namespace baton
