#include "tools/baton/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "runtime/ids.h"

namespace baton {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string last_error() {
  return std::generic_category().message(errno);
}

bool some_rank_is_full(const std::vector<TraceEvent>& events) {
  std::map<RankId, std::size_t> counts;
  for (const TraceEvent& event : events) {
    ++counts[event.rank];
  }
  return std::any_of(counts.begin(), counts.end(), [](const auto& entry) { return entry.second >= kTraceEventsMax; });
}

}  // namespace

std::string why_not_writable(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  const File file(std::fopen(path.c_str(), "ab"));
  return file ? std::string() : last_error();
}

void write_trace(const std::string& path, const std::vector<TraceEvent>& events) {
  const std::string text = trace_json(events);
  const File file(std::fopen(path.c_str(), "wb"));
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fflush(file.get()) != 0) {
    throw Error(Errc::unavailable, fmt::format("cannot write the trace {}: {}", path, last_error()));
  }
  fmt::print(stderr, "Trace: {} events in {}{}\n", events.size(), path,
             some_rank_is_full(events) ? fmt::format(", the last {} of each rank", kTraceEventsMax) : "");
}

}  // namespace baton
