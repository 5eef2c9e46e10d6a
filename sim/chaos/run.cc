#include "sim/chaos/run.h"

#include <string_view>

#include "runtime/stable_order.h"
#include "sim/chaos/name_cache.h"
#include "sim/chaos/world.h"

namespace baton::chaos {
namespace {

constexpr std::size_t kTraceEvents = std::size_t{1} << 20;  // of each rank: more than any run has

// FNV-1a over words: order matters, every bit too, and a run has thousands of events.
std::uint64_t digest_of(const std::vector<TraceEvent>& events, std::uint64_t digest) {
  const auto step = [](std::uint64_t state, std::uint64_t word) {
    return (state ^ word ^ (state >> 29)) * 0x100000001b3;
  };
  const auto digest_of_name = [&step](std::string_view name) {
    std::uint64_t state = 0xcbf29ce484222325;
    for (const char letter : name) {
      state = step(state, static_cast<unsigned char>(letter));
    }
    return state;
  };
  const auto add = [&](std::uint64_t word) { digest = step(digest, word); };
  NameCache<std::uint64_t> names;
  for (const TraceEvent& event : events) {
    add(names(event.name, digest_of_name));
    add(static_cast<std::uint64_t>(event.time.time_since_epoch().count()));
    add((static_cast<std::uint64_t>(event.rank.role) << 40) | (std::uint64_t{event.rank.index} << 8) |
        static_cast<std::uint64_t>(event.phase));
    add(event.id);
    add(event.a);
    add(event.b);
  }
  return digest;
}

}  // namespace

RunReport run_scenario(const Scenario& scenario, RunOptions options) {
  RunReport report;
  World world(scenario, options.model ? *options.model : toy_model(scenario), kTraceEvents);
  world.run();
  const Chronicle& chronicle = world.chronicle();
  const std::vector<TraceEvent>& history = world.history();
  report.violation = chronicle.violation();
  report.digest = digest_of(history, chronicle.digest());
  report.events = history.size() + chronicle.messages();
  report.requests = static_cast<std::uint32_t>(scenario.clients.size());
  report.outcomes = world.outcomes();
  for (const auto& [index, outcome] : report.outcomes) {
    report.finished += outcome.ok() ? 1 : 0;
    report.failed += outcome.failure ? 1 : 0;
  }
  report.faults = chronicle.fault_counts();
  report.injected = chronicle.faults();
  report.virtual_time = world.virtual_time();
  report.coverage.add(history);
  if (options.keep_history) {
    std::vector<TraceEvent> all = chronicle.trace().events();
    all.insert(all.begin(), history.begin(), history.end());
    const auto earlier = [&](std::size_t x, std::size_t y) { return all[x].time < all[y].time; };
    for (const std::size_t index : stable_order(all.size(), earlier)) {
      report.history.push_back(all[index]);
    }
    report.rooms = chronicle.rooms();
  }
  return report;
}

}  // namespace baton::chaos
