#include "sim/chaos/afterthought.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "roles/room_event.h"
#include "sim/chaos/name_cache.h"
#include "sim/chaos/promises.h"

namespace baton::chaos {
namespace {

// Of the faults that the scenario names or draws.
Duration longest_delay(const Scenario& scenario) {
  const bool delays =
      scenario.control != MessageRates{} || scenario.notice != MessageRates{} || scenario.write != WriteRates{};
  Duration longest = delays ? scenario.delay_max : Duration{0};
  for (const ScriptedFault& fault : scenario.script) {
    longest = std::max(longest, fault.delay);
  }
  return longest;
}

// The longest a leg may need to hear of an end and to finish what it is in, where no rank is slow: a step and a late
// write, and messages both ways.
Duration linger_max(const Scenario& scenario) {
  return Duration(std::chrono::milliseconds(3)) + 4 * (longest_delay(scenario) + scenario.latency);
}

// The longest a leg that was told nothing may need after its deadline: a slow step, a late write.
Duration overdue_max(const Scenario& scenario) {
  return Duration(std::chrono::milliseconds(12)) + 2 * longest_delay(scenario);
}

void check_once(const std::vector<TraceEvent>& history, Chronicle& chronicle) {
  std::map<std::pair<RankId, std::uint64_t>, std::uint32_t> ends;
  for (const TraceEvent& event : history) {
    if (event.name == std::string_view("over") && ++ends[{event.rank, event.id}] == 2) {
      chronicle.blame("terminal", fmt::format("the room ended twice on {}", to_string(event.rank)), RoomId{event.id});
    }
  }
}

void check_prompt(const Scenario& scenario, const std::vector<TraceEvent>& history,
                  const std::map<std::uint32_t, ClientOutcome>& outcomes, Chronicle& chronicle) {
  for (const TraceEvent& event : history) {
    if (event.name != std::string_view("over")) {
      continue;
    }
    const auto request = chronicle.request_of(RoomId{event.id});
    const auto outcome = request ? outcomes.find(*request) : outcomes.end();
    if (outcome == outcomes.end() || outcome->second.gone == kNever) {
      continue;
    }
    const TimePoint gone = outcome->second.gone;
    if (event.time > gone + linger_max(scenario)) {
      const auto late = std::chrono::duration_cast<std::chrono::microseconds>(event.time - gone).count();
      chronicle.blame("lingers",
                      fmt::format("request {}: {} held the room for {} us after the request had ended", *request,
                                  to_string(event.rank), late),
                      RoomId{event.id});
    }
  }
}

// A leg's failure is its request's end.
void check_heard(const Scenario& scenario, const std::vector<TraceEvent>& history,
                 const std::map<std::uint32_t, ClientOutcome>& outcomes, Chronicle& chronicle) {
  std::set<std::uint32_t> vanish;
  for (const ClientPlan& plan : scenario.clients) {
    if (plan.patience && plan.vanishes) {
      vanish.insert(plan.index);
    }
  }
  for (const TraceEvent& event : history) {
    const std::string_view name = event.name;
    const bool failed = (name == "over" || name == "refused") && event.b != 0;
    const auto request = failed ? chronicle.request_of(RoomId{event.id}) : std::nullopt;
    const auto outcome = request ? outcomes.find(*request) : outcomes.end();
    if (outcome == outcomes.end() || vanish.contains(*request)) {
      continue;  // it need not have listened
    }
    const TimePoint latest = latest_end(scenario, event.time + linger_max(scenario));
    if (outcome->second.gone > latest) {
      const auto late = std::chrono::duration_cast<std::chrono::microseconds>(outcome->second.gone - event.time);
      chronicle.blame("unheard",
                      fmt::format("request {}: {} gave the room up, and the request ended {} us later", *request,
                                  to_string(event.rank), late.count()),
                      RoomId{event.id});
    }
  }
}

void check_not_revived(const std::vector<TraceEvent>& history, const Arrivals& arrivals, Chronicle& chronicle) {
  for (const TraceEvent& event : history) {
    const std::string_view name = event.name;
    if (name != "bootstrap" && name != "prealloc") {
      continue;
    }
    const auto cancel = arrivals.cancels.find({event.rank, RoomId{event.id}});
    const auto job = arrivals.jobs.find({event.rank, RoomId{event.id}});
    if (cancel != arrivals.cancels.end() && job != arrivals.jobs.end() && cancel->second < job->second) {
      chronicle.blame("revived",
                      fmt::format("{} took up a room that had been cancelled there before", to_string(event.rank)),
                      RoomId{event.id});
    }
  }
}

// A rank ends its rooms at their deadline by itself, whether anybody tells it or not: after the step or write it is in.
void check_overdue(const Scenario& scenario, const std::vector<TraceEvent>& history,
                   const std::map<std::uint32_t, ClientOutcome>& outcomes, Chronicle& chronicle) {
  std::map<std::uint32_t, TimePoint> deadlines;
  for (const ClientPlan& plan : scenario.clients) {
    deadlines.emplace(plan.index, outcomes.at(plan.index).began + plan.time_limit);
  }
  for (const TraceEvent& event : history) {
    if (event.name != std::string_view("over")) {
      continue;
    }
    const auto request = chronicle.request_of(RoomId{event.id});
    const auto deadline = request ? deadlines.find(*request) : deadlines.end();
    if (deadline != deadlines.end() && event.time > deadline->second + overdue_max(scenario)) {
      const auto late = std::chrono::duration_cast<std::chrono::microseconds>(event.time - deadline->second).count();
      chronicle.blame("overdue",
                      fmt::format("request {}: {} held the room for {} us after its deadline", *request,
                                  to_string(event.rank), late),
                      RoomId{event.id});
    }
  }
}

// While a retracted request waits for pages nobody new gets any.
void check_order(const std::vector<TraceEvent>& history, Chronicle& chronicle) {
  std::map<RankId, std::set<std::uint64_t>> retracted;
  for (const TraceEvent& event : history) {
    const std::string_view name = event.name;
    std::set<std::uint64_t>& waiting = retracted[event.rank];
    if (name == "retracted") {
      waiting.insert(event.id);
    } else if (name == "ready" || name == "over") {
      waiting.erase(event.id);
    } else if (name == room_event::kAdmitted && !waiting.empty()) {
      chronicle.blame("order",
                      fmt::format("{} gave pages to a new room while {} retracted ones wait for theirs",
                                  to_string(event.rank), waiting.size()),
                      RoomId{event.id});
    }
  }
}

// The few events that any of the rules looks at.
std::vector<TraceEvent> that_matter(const std::vector<TraceEvent>& history) {
  const auto matters = [](std::string_view name) {
    return name == "over" || name == "refused" || name == "bootstrap" || name == "prealloc" || name == "retracted" ||
           name == "ready" || name == room_event::kAdmitted;
  };
  NameCache<bool> names;
  std::vector<TraceEvent> some;
  for (const TraceEvent& event : history) {
    if (names(event.name, matters)) {
      some.push_back(event);
    }
  }
  return some;
}

}  // namespace

void check_afterwards(const Scenario& scenario, const std::vector<TraceEvent>& all, const Arrivals& arrivals,
                      const std::map<std::uint32_t, ClientOutcome>& outcomes, Chronicle& chronicle) {
  const std::vector<TraceEvent> history = that_matter(all);
  if (memories_last(scenario)) {
    check_once(history, chronicle);
    check_not_revived(history, arrivals, chronicle);
    check_overdue(scenario, history, outcomes, chronicle);
    check_order(history, chronicle);
  }
  if (ends_are_prompt(scenario)) {
    check_prompt(scenario, history, outcomes, chronicle);
    check_heard(scenario, history, outcomes, chronicle);
  }
}

}  // namespace baton::chaos
