#include "sim/parity/decision_log.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "roles/room_event.h"
#include "sim/workload/page_keys.h"

namespace baton::sim {
namespace {

// Of the words in a rank's history those that say what the rank chose to do. What messages it got, and in which state
// they met a room, is left out: on threads they overtake each other.
constexpr std::string_view kDecisions[] = {"step",
                                           "cached",
                                           room_event::kAdmitted,
                                           room_event::kVerdictOk,
                                           room_event::kStepDone,
                                           room_event::kLastChunk,
                                           "pushed",
                                           room_event::kLastToken,
                                           room_event::kRetract,
                                           room_event::kResume};

bool is_decision(const TraceEvent& event) {
  return std::ranges::find(kDecisions, std::string_view(event.name)) != std::end(kDecisions);
}

std::string step_line(const StepBatch& batch) {
  std::string line;
  for (const StepSequence& sequence : batch.sequences) {
    std::uint64_t pages = 0;
    for (const PageId page : sequence.pages) {
      pages = chained(pages, page);
    }
    line += fmt::format("{}+{}{}@{:04x} ", sequence.position, sequence.tokens.size(),
                        sequence.sampling != nullptr ? "!" : "", pages & 0xffff);
  }
  return line;
}

const std::string& line_or(const std::vector<std::string>& lines, std::size_t index) {
  static const std::string nothing = "nothing";
  return index < lines.size() ? lines[index] : nothing;
}

}  // namespace

void DecisionLog::step(RankId rank, const StepBatch& batch) {
  std::string line = step_line(batch);
  const std::lock_guard lock(mutex_);
  lines_[to_string(rank) + " steps"].push_back(std::move(line));
}

void DecisionLog::add_history(const std::vector<TraceEvent>& events) {
  const std::lock_guard lock(mutex_);
  for (const TraceEvent& event : events) {
    if (event.phase != TraceEvent::Phase::end && is_decision(event)) {
      lines_[to_string(event.rank) + " rooms"].push_back(
          fmt::format("{} {:x} {} {}", event.name, event.id, event.a, event.b));
    }
  }
}

void DecisionLog::ended(const RequestRecord& record) {
  const auto rank = [](const std::optional<RankId>& id) { return id ? to_string(*id) : std::string("nobody"); };
  std::string line = fmt::format(
      "{}: {} to {}, {} cached, {} out in the end '{}', {} chunks, {} pages, {} retractions {}", record.id,
      rank(record.prefill), rank(record.decode), record.cached_tokens, record.output_tokens,
      static_cast<int>(record.reason), record.chunks, record.pages, record.retractions, record.error_origin);
  const std::lock_guard lock(mutex_);
  lines_["requests"].push_back(std::move(line));
}

std::map<std::string, std::vector<std::string>> DecisionLog::lines() const {
  const std::lock_guard lock(mutex_);
  auto all = lines_;
  std::ranges::sort(all["requests"]);
  return all;
}

std::optional<std::string> first_difference(const DecisionLog& one, const DecisionLog& other) {
  auto mine = one.lines();
  auto theirs = other.lines();
  for (const auto& [part, lines] : theirs) {
    mine.try_emplace(part);
  }
  for (const auto& [part, lines] : mine) {
    const std::vector<std::string>& others = theirs[part];
    for (std::size_t i = 0; i < std::max(lines.size(), others.size()); ++i) {
      if (line_or(lines, i) != line_or(others, i)) {
        return fmt::format("{}, line {}: '{}' in one, '{}' in the other", part, i + 1, line_or(lines, i),
                           line_or(others, i));
      }
    }
  }
  return std::nullopt;
}

}  // namespace baton::sim
