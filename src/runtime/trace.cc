#include "runtime/trace.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace baton {
namespace {

constexpr std::size_t kFirstEvents = 512;  // for which the ring takes memory at once
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::int64_t kNanosecondsPerMicrosecond = 1'000;

char phase_letter(TraceEvent::Phase phase) noexcept {
  switch (phase) {
    case TraceEvent::Phase::begin:
      return 'b';
    case TraceEvent::Phase::end:
      return 'e';
    case TraceEvent::Phase::instant:
      return 'i';
  }
  return '?';
}

// Exact decimal text of a count of nanoseconds in a larger unit; times before the epoch keep their sign.
std::string in_unit(std::int64_t nanoseconds, std::int64_t unit, int digits) {
  const std::int64_t magnitude = nanoseconds < 0 ? -nanoseconds : nanoseconds;
  return fmt::format("{}{}.{:0{}}", nanoseconds < 0 ? "-" : "", magnitude / unit, magnitude % unit, digits);
}

std::string json_text(const char* text) {
  std::string result;
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte == '"' || byte == '\\') {
      result += '\\';
      result += *text;
    } else if (byte < 0x20) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += *text;
    }
  }
  return result;
}

std::string json_event(const TraceEvent& event, std::size_t thread) {
  const std::string place = event.phase == TraceEvent::Phase::instant
                                ? std::string("\"s\":\"t\"")
                                : fmt::format("\"cat\":\"{}\",\"id\":\"{:#x}\"", to_string(event.rank), event.id);
  return fmt::format(
      "{{\"name\":\"{}\",\"ph\":\"{}\",\"ts\":{},\"pid\":0,\"tid\":{},{},"
      "\"args\":{{\"id\":\"{:016x}\",\"a\":{},\"b\":{}}}}}",
      json_text(event.name), phase_letter(event.phase),
      in_unit(event.time.time_since_epoch().count(), kNanosecondsPerMicrosecond, 3), thread, place, event.id, event.a,
      event.b);
}

}  // namespace

std::vector<TraceEvent> EventTrace::events() const {
  std::vector<TraceEvent> result;
  result.reserve(ring_.size());
  const auto oldest = ring_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  result.insert(result.end(), oldest, ring_.end());
  result.insert(result.end(), ring_.begin(), oldest);
  return result;
}

void EventTrace::clear() noexcept {
  ring_.clear();
  oldest_ = 0;
  overwritten_ = 0;
}

void EventTrace::store(const TraceEvent& event) {
  if (ring_.size() < capacity_) {
    if (ring_.empty()) {
      ring_.reserve(std::min(capacity_, kFirstEvents));
    }
    ring_.push_back(event);
    return;
  }
  ring_[oldest_] = event;
  oldest_ = (oldest_ + 1) % capacity_;
  ++overwritten_;
}

std::string trace_text(const std::vector<TraceEvent>& events) {
  std::string text;
  for (const TraceEvent& event : events) {
    fmt::format_to(std::back_inserter(text), "{} {} {} {} {:016x} {} {}\n",
                   in_unit(event.time.time_since_epoch().count(), kNanosecondsPerSecond, 9), to_string(event.rank),
                   phase_letter(event.phase), event.name, event.id, event.a, event.b);
  }
  return text;
}

std::string trace_json(const std::vector<TraceEvent>& events) {
  std::map<RankId, std::size_t> threads;
  for (const TraceEvent& event : events) {
    threads.emplace(event.rank, 0);
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  std::size_t next = 0;
  for (auto& [rank, thread] : threads) {
    thread = next++;
    text += fmt::format("{}{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                        separator, thread, to_string(rank));
    separator = ",\n";
  }
  for (const TraceEvent& event : events) {
    text += separator;
    text += json_event(event, threads.at(event.rank));
    separator = ",\n";
  }
  text += "\n]}\n";
  return text;
}

// Every input is in order of time already.
std::vector<TraceEvent> merge_traces(const std::vector<const EventTrace*>& traces) {
  std::vector<std::vector<TraceEvent>> parts;
  std::size_t total = 0;
  for (const EventTrace* trace : traces) {
    parts.push_back(trace->events());
    total += parts.back().size();
  }
  std::vector<std::size_t> next(parts.size());
  std::vector<TraceEvent> merged;
  merged.reserve(total);
  while (merged.size() < total) {
    // The part that goes on, and until when: the others' next event comes first from then on, or, where the other is
    // an earlier input, already at the same time.
    std::size_t first = parts.size();
    TimePoint time = kNever;
    TimePoint others = kNever;
    bool earlier_input = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (next[i] == parts[i].size()) {
        continue;
      }
      const TimePoint mine = parts[i][next[i]].time;
      if (first == parts.size() || mine < time) {
        others = time;
        earlier_input = first != parts.size();
        first = i;
        time = mine;
      } else if (mine < others) {
        others = mine;
        earlier_input = false;
      }
    }
    const std::vector<TraceEvent>& part = parts[first];
    std::size_t& index = next[first];
    do {
      merged.push_back(part[index++]);
    } while (index < part.size() && (part[index].time < others || (part[index].time == others && !earlier_input)));
  }
  return merged;
}

}  // namespace baton
