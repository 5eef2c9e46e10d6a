#include "sim/report/perfetto.h"

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "roles/http/json_writer.h"

namespace baton::sim {
namespace {

constexpr std::size_t kPiece = 100'000;  // bytes
constexpr int kClusterGroup = 4;

constexpr std::pair<TrackKind, const char*> kGroups[] = {
    {TrackKind::prefill, "prefill"}, {TrackKind::link, "links"}, {TrackKind::decode, "decode"}};

// A group is a process of the format, a line a thread of it; both count from one.
int group_of(TrackKind kind) noexcept {
  return static_cast<int>(kind) + 1;
}

double microseconds(Duration duration) noexcept {
  return static_cast<double>(duration.count()) / 1e3;
}

class Events final {
 public:
  explicit Events(const std::function<void(std::string_view)>& write) : write_(write) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    if (text_.size() >= kPiece) {
      write_(text_);
      text_.clear();
    }
  }

  void end() {
    text_ += "\n]}\n";
    write_(text_);
  }

 private:
  const std::function<void(std::string_view)>& write_;
  std::string text_;
  bool first_ = true;
};

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

void add_names(Events& events, const RunResult& result) {
  for (const auto& [kind, name] : kGroups) {
    events.add(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}}}})", group_of(kind), name);
  }
  events.add(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"cluster"}}}})", kClusterGroup);
  for (std::size_t i = 0; i < result.tracks.size(); ++i) {
    events.add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
               group_of(result.tracks[i].kind), i + 1, quoted(result.tracks[i].name));
  }
}

void add_counters(Events& events, const ClusterSample& sample) {
  const double time = microseconds(sample.time.time_since_epoch());
  events.add(R"({{"ph":"C","name":"requests","pid":{},"tid":0,"ts":{:.3f},"args":{{"waiting for prefill":{},)"
             R"("in prefill":{},"in transfer":{},"waiting for decode":{},"in decode":{}}}}})",
             kClusterGroup, time, sample.waiting_prefill, sample.computing_prefill, sample.in_transfer,
             sample.waiting_decode, sample.running_decode);
  events.add(R"({{"ph":"C","name":"use in %","pid":{},"tid":0,"ts":{:.3f},"args":{{"prefill":{:.1f},"decode":{:.1f},)"
             R"("links":{:.1f},"pages":{:.1f}}}}})",
             kClusterGroup, time, sample.prefill_busy * 100, sample.decode_busy * 100, sample.links_busy * 100,
             sample.pages_used * 100);
}

}  // namespace

void trace_json(const RunResult& result, const std::function<void(std::string_view)>& write) {
  Events events(write);
  add_names(events, result);
  for (const TrackSpan& span : result.spans) {
    const Track& track = result.tracks.at(span.track);
    events.add(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"request":{},"{}":{}}}}})",
               span.name, group_of(track.kind), span.track + 1, microseconds(span.begin.time_since_epoch()),
               microseconds(span.length), span.id, track.kind == TrackKind::link ? "bytes" : "tokens", span.amount);
  }
  for (const ClusterSample& sample : result.samples) {
    add_counters(events, sample);
  }
  events.end();
}

}  // namespace baton::sim
