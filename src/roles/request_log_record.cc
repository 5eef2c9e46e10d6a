#include "roles/request_log_record.h"

#include <algorithm>
#include <utility>

namespace baton {

double milliseconds_of(Duration duration) noexcept {
  return static_cast<double>(duration.count()) / 1e6;
}

RecordBuilder::RecordBuilder(std::string id, std::uint32_t prompt_tokens, TimePoint arrived, TimePoint epoch)
    : id_(std::move(id)), prompt_tokens_(prompt_tokens), arrived_(arrived), epoch_(epoch) {}

std::optional<Duration> RecordBuilder::token(TimePoint now) noexcept {
  const TimePoint before = std::exchange(last_, now);
  if (tokens_++ == 0) {
    first_ = now;
    return std::nullopt;
  }
  gap_max_ = std::max(gap_max_, now - before);
  return now - before;
}

void RecordBuilder::tokens(std::span<const TimePoint> times) noexcept {
  TimePoint last = tokens_ == 0 ? times.front() : last_;
  first_ = tokens_ == 0 ? times.front() : first_;
  Duration longest = gap_max_;
  for (const TimePoint time : times) {
    longest = std::max(longest, time - std::exchange(last, time));
  }
  gap_max_ = longest;
  last_ = last;
  tokens_ += static_cast<std::uint32_t>(times.size());
}

RequestRecord RecordBuilder::finish(const FinishEvent& event, TimePoint now) const {
  RequestRecord record;
  record.id = id_;
  record.arrival_s = milliseconds_of(arrived_ - epoch_) / 1e3;
  record.prompt_tokens = prompt_tokens_;
  record.cached_tokens = event.usage.cached_tokens;
  record.output_tokens = std::max(tokens_, event.usage.completion_tokens);
  record.reason = event.reason;
  if (event.failure) {
    record.error = event.failure->code;
    record.error_origin = event.failure->origin;
  }
  record.e2e_ms = milliseconds_of(now - arrived_);
  if (tokens_ > 0) {
    record.ttft_ms = milliseconds_of(first_ - arrived_);
  }
  if (tokens_ > 0 && record.output_tokens > 1) {
    record.tpot_ms = milliseconds_of(now - first_) / (record.output_tokens - 1);
  }
  if (tokens_ > 1) {
    record.itl_max_ms = milliseconds_of(gap_max_);
  }
  const Timeline& timeline = event.timeline;
  for (std::size_t stage = 0; stage < kStageCount; ++stage) {
    record.stages_ms[stage] = milliseconds_of(timeline.stages[stage]);
  }
  if (timeline.prefill.role != Role::router) {
    record.prefill = timeline.prefill;
  }
  if (timeline.decode.role != Role::router) {
    record.decode = timeline.decode;
  }
  record.chunks = timeline.chunks;
  record.pages = timeline.pages;
  record.moved_bytes = timeline.moved_bytes;
  record.retractions = timeline.retractions;
  return record;
}

RequestRecord RecordBuilder::give_up(TimePoint now) const {
  const FinishEvent event(Failure(Errc::aborted, "client", ""));
  return finish(event, now);
}

}  // namespace baton
