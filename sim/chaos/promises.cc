#include "sim/chaos/promises.h"

#include <algorithm>

namespace baton::chaos {
namespace {

constexpr Duration kPlenty = std::chrono::milliseconds(1500);  // of time, for a world where nothing is lost
constexpr double kHealable = 0.05;                             // losses that some repetition surely survives
constexpr Duration kHealing = std::chrono::seconds(30);        // of time, for one where notices are lost and repeated

std::uint32_t pages_for(std::uint32_t tokens, std::uint32_t page_tokens) {
  return (tokens + page_tokens - 1) / page_tokens;
}

bool fits(const Scenario& scenario, const ClientPlan& plan) {
  const std::uint32_t total = plan.prompt_tokens + plan.max_tokens;
  const bool decode = pages_for(total, scenario.page_tokens) <= scenario.decode_pages;
  const bool prefill = scenario.aggregated || !scenario.copying ||
                       pages_for(plan.prompt_tokens, scenario.page_tokens) <= scenario.prefill_pages;
  return decode && prefill;
}

bool places_for_all(const Scenario& scenario) {
  const std::size_t clients = scenario.clients.size();
  return scenario.waiting_max >= clients && scenario.rooms_max >= clients && scenario.open_max >= clients;
}

// A heartbeat that comes late can cost a living rank its place.
bool heartbeats_matter(const Scenario& scenario) {
  return scenario.copying && !scenario.aggregated && scenario.heartbeat > Duration{0};
}

// Control messages that come late, early or twice change nothing.
bool control_heals(const Scenario& scenario) {
  const MessageRates& control = scenario.control;
  return control == MessageRates{} || (control.lost == 0 && !heartbeats_matter(scenario));
}

bool scripted(const Scenario& scenario, auto harmless) {
  return !std::ranges::all_of(scenario.script, [&](const ScriptedFault& fault) { return harmless(fault.fault); });
}

bool is_of_front(const TimedFault& timed) {
  return timed.fault == Fault::freeze && timed.rank.role == Role::router;
}

// A front that stands still loses nothing: what was sent to it waits.
bool ranks_are_left_alone(const Scenario& scenario) {
  return std::ranges::all_of(scenario.timed, is_of_front);
}

// For so long the front may stand still.
Duration frozen(const Scenario& scenario) {
  Duration sum{0};
  for (const TimedFault& timed : scenario.timed) {
    sum += is_of_front(timed) ? timed.length : Duration{0};
  }
  return sum;
}

}  // namespace

TimePoint latest_end(const Scenario& scenario, TimePoint deadline) {
  TimePoint latest = deadline;
  for (bool again = true; again;) {
    again = false;
    for (const TimedFault& timed : scenario.timed) {
      const TimePoint thaw = TimePoint{} + timed.at + timed.length;
      if (is_of_front(timed) && TimePoint{} + timed.at <= latest && latest < thaw) {
        latest = thaw;
        again = true;
      }
    }
  }
  return latest;
}

Promise promise_of(const Scenario& scenario, const ClientPlan& plan) {
  if (!fits(scenario, plan)) {
    return Promise::refusal;
  }
  if (plan.patience || !places_for_all(scenario) || !ranks_are_left_alone(scenario) || !control_heals(scenario) ||
      scenario.notice.torn > 0 || scenario.notice.lost > kHealable || scenario.write.unheard > kHealable ||
      scenario.write.failed > 0 || scenario.write.torn > 0) {
    return Promise::an_end;
  }
  const auto heals = [](Fault fault) {
    return fault == Fault::notice_lost || fault == Fault::notice_delayed || fault == Fault::notice_overtaken ||
           fault == Fault::notice_duplicated || fault == Fault::write_late || fault == Fault::write_unheard;
  };
  const bool undisturbed = scenario.control == MessageRates{} && scenario.notice == MessageRates{} &&
                           scenario.write == WriteRates{} && scenario.script.empty();
  const bool in_time = plan.time_limit >= (undisturbed ? kPlenty : kHealing) + frozen(scenario);
  return in_time && !scripted(scenario, heals) ? Promise::success : Promise::an_end;
}

bool ends_are_prompt(const Scenario& scenario) {
  const auto keeps_pace = [](Fault fault) {
    return fault != Fault::control_lost && fault != Fault::notice_lost && fault != Fault::write_unheard;
  };
  return ranks_are_left_alone(scenario) && scenario.control.lost == 0 && scenario.notice.lost == 0 &&
         scenario.write.unheard == 0 && !scripted(scenario, keeps_pace);
}

bool ends_are_heard(const Scenario& scenario) {
  return memories_last(scenario) && scenario.control.lost == 0 &&
         !scripted(scenario, [](Fault fault) { return fault != Fault::control_lost; });
}

bool memories_last(const Scenario& scenario) {
  return std::ranges::all_of(scenario.timed, [](const TimedFault& timed) {
    return timed.fault == Fault::slow || timed.fault == Fault::step_failed || is_of_front(timed);
  });
}

}  // namespace baton::chaos
