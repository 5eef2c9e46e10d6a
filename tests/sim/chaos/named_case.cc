#include "tests/sim/chaos/named_case.h"

#include <fmt/format.h>

namespace baton::chaos {

RunReport play(const Scenario& scenario, RunOptions options) {
  RunReport report = run_scenario(scenario, options);
  if (report.violation) {
    throw CaseFailed(fmt::format("rule {}: {}", report.violation->rule, report.violation->message));
  }
  return report;
}

Scenario quiet_world(std::uint32_t prefill, std::uint32_t decode) {
  Scenario scenario;
  scenario.seed = 1;
  scenario.prefill = prefill;
  scenario.decode = decode;
  scenario.heartbeat = Duration{0};
  return scenario;
}

ClientPlan& add_client(Scenario& scenario, Duration at, std::uint32_t prompt_tokens, std::uint32_t max_tokens) {
  ClientPlan plan;
  plan.index = static_cast<std::uint32_t>(scenario.clients.size());
  plan.arrival = at;
  plan.prompt_tokens = prompt_tokens;
  plan.max_tokens = max_tokens;
  plan.time_limit = std::chrono::seconds(1);
  return scenario.clients.emplace_back(plan);
}

std::vector<NamedCase> all_named_cases() {
  std::vector<NamedCase> all;
  for (const auto& list : {memory_cases(), prefix_cases(), completion_cases(), ends_cases(), identity_cases(),
                           output_cases(), admission_cases(), lives_cases(), peer_leak_cases(), peer_wait_cases(),
                           peer_failure_cases(), peer_output_cases(), peer_api_cases(), peer_reserve_cases()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace baton::chaos
