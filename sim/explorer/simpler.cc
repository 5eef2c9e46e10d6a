#include "sim/explorer/simpler.h"

#include <algorithm>

namespace baton::chaos {
namespace {

template <auto kField>
void to_default(Scenario& scenario) {
  scenario.*kField = Scenario{}.*kField;
}

}  // namespace

bool has_message_faults(const Scenario& scenario) {
  return scenario.control != MessageRates{} || scenario.notice != MessageRates{} || scenario.write != WriteRates{};
}

void clear_message_faults(Scenario& scenario) {
  scenario.control = {};
  scenario.notice = {};
  scenario.write = {};
  scenario.only.reset();
}

const std::vector<double* (*)(Scenario&)>& message_rates() {
  static const std::vector<double* (*)(Scenario&)> kRates{
      [](Scenario& s) { return &s.control.lost; },      [](Scenario& s) { return &s.control.delayed; },
      [](Scenario& s) { return &s.control.overtaken; }, [](Scenario& s) { return &s.control.duplicated; },
      [](Scenario& s) { return &s.control.torn; },      [](Scenario& s) { return &s.notice.lost; },
      [](Scenario& s) { return &s.notice.delayed; },    [](Scenario& s) { return &s.notice.overtaken; },
      [](Scenario& s) { return &s.notice.duplicated; }, [](Scenario& s) { return &s.notice.torn; },
      [](Scenario& s) { return &s.write.failed; },      [](Scenario& s) { return &s.write.late; },
      [](Scenario& s) { return &s.write.torn; },        [](Scenario& s) { return &s.write.unheard; }};
  return kRates;
}

void set_ranks(Scenario& scenario, std::uint32_t Scenario::* count, std::uint32_t ranks) {
  scenario.*count = ranks;
  for (ClientPlan& client : scenario.clients) {
    client.router %= scenario.routers;
  }
  std::erase_if(scenario.timed, [&](const TimedFault& timed) {
    return !has_rank(scenario, timed.rank) || (timed.fault == Fault::partition && !has_rank(scenario, timed.to));
  });
}

const std::vector<void (*)(Scenario&)>& simpler_settings() {
  static const std::vector<void (*)(Scenario&)> kSettings{
      to_default<&Scenario::prefix_cache>,
      to_default<&Scenario::retract_every>,
      to_default<&Scenario::recompute>,
      to_default<&Scenario::latest_first>,
      to_default<&Scenario::plan_ahead>,
      to_default<&Scenario::lookahead_tokens>,
      to_default<&Scenario::rooms_max>,
      to_default<&Scenario::open_max>,
      to_default<&Scenario::waiting_max>,
      to_default<&Scenario::running_max>,
      to_default<&Scenario::decode_pages>,
      to_default<&Scenario::prefill_pages>,
      to_default<&Scenario::page_tokens>,
      to_default<&Scenario::chunk_tokens>,
      to_default<&Scenario::heartbeat>,
      [](Scenario& s) {
        if (s.timed.empty()) {  // a rank that dies without heartbeats is never missed
          s.heartbeat = Duration{0};
        }
      },
      to_default<&Scenario::copying>,
      [](Scenario& s) {
        s.aggregated = false;
        set_ranks(s, &Scenario::prefill, s.prefill);
      }};
  return kSettings;
}

const std::vector<void (*)(ClientPlan&)>& simpler_client() {
  static const std::vector<void (*)(ClientPlan&)> kSteps{[](ClientPlan& c) {
                                                           c.patience.reset();
                                                           c.vanishes = false;
                                                         },
                                                         [](ClientPlan& c) { c.shared_tokens = 0; },
                                                         [](ClientPlan& c) { c.vanishes = false; },
                                                         [](ClientPlan& c) { c.stop_after.reset(); },
                                                         [](ClientPlan& c) { c.router = 0; },
                                                         [](ClientPlan& c) { c.time_limit = ClientPlan{}.time_limit; }};
  return kSteps;
}

}  // namespace baton::chaos
