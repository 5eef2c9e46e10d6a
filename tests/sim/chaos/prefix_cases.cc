// Cases of pages that several requests read: the prefix cache.
#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

ClientPlan& add_relative(Scenario& scenario, Duration at, std::uint32_t shared, std::uint32_t more) {
  ClientPlan& client = add_client(scenario, at, shared + more, 4);
  client.shared_tokens = shared;
  return client;
}

Scenario caching_world() {
  Scenario scenario = quiet_world();
  scenario.prefix_cache = true;
  return scenario;
}

// Pages for the first prompt's fifteen cached ones, for what the second one adds, and a few more. The third one needs
// more than those few while the second one is being computed.
void page_in_use_stays() {
  Scenario scenario = caching_world();
  scenario.prefill_pages = 30;
  add_relative(scenario, microseconds(100), 60, 1);
  add_relative(scenario, milliseconds(10), 60, 40);
  add_client(scenario, milliseconds(10) + microseconds(100), 60, 4);
  const RunReport report = play(scenario, {.keep_history = true});
  for (const auto& [index, outcome] : report.outcomes) {
    expect(outcome.ok(), "every request is served");
  }
  expect(events_of(report, kPrefill, "cached", 1).size() == 1, "the second request finds the first one's prefix");
}

// The first client leaves while its prompt is being computed.
void uncomputed_prompt_is_not_offered() {
  Scenario scenario = caching_world();
  add_relative(scenario, microseconds(100), 60, 4).patience = microseconds(700);
  add_relative(scenario, milliseconds(5), 60, 4);
  const RunReport report = play(scenario, {.keep_history = true});
  expect(events_of(report, kPrefill, "computed", 0).size() < 4, "the first prompt is not computed to its end");
  expect(report.outcomes.at(1).ok(), "the second request is served");
  expect(events_of(report, kPrefill, "cached", 1).empty(), "and finds nothing");
}

}  // namespace

std::vector<NamedCase> prefix_cases() {
  return {
      {"C1: a cached page is not taken back while a request reads it", "sglang#31368", page_in_use_stays},
      {"C2: what was not computed to its end is no prefix for others", "sglang#31239",
       uncomputed_prompt_is_not_offered},
  };
}

}  // namespace baton::chaos
