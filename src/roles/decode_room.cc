#include "roles/decode_room.h"

#include <algorithm>

namespace baton {
namespace {

// Durations measured on two clocks may disagree by a little: no stage is negative, and none outgrows its frame.
Duration within(Duration value, Duration frame) {
  return std::clamp(value, Duration::zero(), frame);
}

}  // namespace

std::span<const TokenId> DecodeRoom::next_tokens(std::uint32_t rows) const noexcept {
  const std::span<const TokenId> text = again.empty() ? prompt() : std::span<const TokenId>(again);
  if (computed < text.size()) {
    return text.subspan(computed, std::min<std::size_t>(rows, text.size() - computed));
  }
  const std::span<const TokenId> produced = output.tokens();
  return produced.subspan(computed - prompt().size(), rows);
}

Timeline DecodeRoom::timeline(TimePoint now) const {
  Timeline line;
  line.prefill = job.prefill.rank;
  line.decode = job.decode.rank;
  line.chunks = chunks;
  line.pages = pages_handed_over;
  line.moved_bytes = prefill.copied_bytes;
  line.retractions = retractions;
  // A room that ended early never reached the later marks: they fall on the end.
  const auto mark = [&](std::optional<TimePoint> time, TimePoint before) {
    return std::max(time.value_or(now), before);
  };
  const TimePoint at_rank = mark(known, job.arrived);
  const TimePoint at_pages = mark(landed, at_rank);
  const TimePoint at_verdict = mark(verdict, at_pages);
  const TimePoint at_join = mark(joined, at_verdict);
  const Duration handed = at_verdict - at_pages;
  line[Stage::route] = at_rank - job.arrived;
  line[Stage::wait_decode_slot] = at_pages - at_rank;
  line[Stage::queue_prefill] = within(Duration(prefill.waiting_ns), handed);
  line[Stage::prefill] = within(Duration(prefill.compute_ns), handed - line[Stage::queue_prefill]);
  line[Stage::transfer_exposed] = handed - line[Stage::queue_prefill] - line[Stage::prefill];
  line[Stage::queue_decode] = at_join - at_verdict;
  line[Stage::decode] = now - at_join;
  line.total = now - job.arrived;
  line.first_token = at_verdict - job.arrived;
  return line;
}

}  // namespace baton
