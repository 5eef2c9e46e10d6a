// EventTrace: what happened, when and where, as a bounded ring of small events. One per context; owner's thread only.
//
// Off, record() costs one branch. On, it copies one event; when the ring is full the oldest is overwritten and counted.
// The content depends on the events alone, so that two simulations of one seed write the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton {

struct TraceEvent {
  enum class Phase : std::uint8_t { instant, begin, end };  // begin and end pair up by (name, id)

  TimePoint time{};
  const char* name = "";  // a string literal
  RankId rank{};
  Phase phase = Phase::instant;
  std::uint64_t id = 0;  // room or request; 0: concerns none
  std::uint64_t a = 0;   // two values whose meaning the name gives
  std::uint64_t b = 0;
};

class EventTrace final {
 public:
  // capacity events are kept; 0 turns the trace off for good.
  explicit EventTrace(std::size_t capacity) : capacity_(capacity) {}

  bool enabled() const noexcept { return enabled_ && capacity_ > 0; }
  void enable(bool on) noexcept { enabled_ = on; }

  void record(const TraceEvent& event) {
    if (enabled()) {
      store(event);
    }
  }
  void record(TimePoint time, RankId rank, const char* name, std::uint64_t id = 0, std::uint64_t a = 0,
              std::uint64_t b = 0) {
    record(TraceEvent{time, name, rank, TraceEvent::Phase::instant, id, a, b});
  }
  void begin(TimePoint time, RankId rank, const char* name, std::uint64_t id, std::uint64_t a = 0) {
    record(TraceEvent{time, name, rank, TraceEvent::Phase::begin, id, a, 0});
  }
  void end(TimePoint time, RankId rank, const char* name, std::uint64_t id, std::uint64_t a = 0) {
    record(TraceEvent{time, name, rank, TraceEvent::Phase::end, id, a, 0});
  }

  std::size_t size() const noexcept { return ring_.size(); }
  std::uint64_t overwritten() const noexcept { return overwritten_; }
  std::vector<TraceEvent> events() const;  // a copy, oldest first
  void clear() noexcept;

 private:
  void store(const TraceEvent& event);

  std::size_t capacity_;
  std::size_t oldest_ = 0;  // index of the next to be overwritten once the ring is full
  std::uint64_t overwritten_ = 0;
  std::vector<TraceEvent> ring_;
  bool enabled_ = true;
};

// One line an event: "seconds rank phase name id a b", for people and for comparing runs.
std::string trace_text(const std::vector<TraceEvent>& events);

// The JSON that Chrome's about:tracing and ui.perfetto.dev open (Google, "Trace Event Format"): ranks are threads,
// begin and end are asynchronous spans by rank and id, times in microseconds.
std::string trace_json(const std::vector<TraceEvent>& events);

// Events of several contexts as one sequence, by time; those of one instant stay in the order of the inputs.
std::vector<TraceEvent> merge_traces(const std::vector<const EventTrace*>& traces);

}  // namespace baton
