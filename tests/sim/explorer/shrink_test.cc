#include "sim/explorer/shrink.h"

#include <algorithm>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "sim/chaos/profile.h"
#include "sim/explorer/ddmin.h"
#include "sim/explorer/script.h"

namespace baton::chaos {
namespace {

constexpr std::uint64_t kBadKey = 0x77;

const ClientPlan* client_7(const Scenario& scenario) {
  const auto found = std::ranges::find(scenario.clients, 7U, &ClientPlan::index);
  return found == scenario.clients.end() ? nullptr : &*found;
}

// The faults that happen are those of keys 0x70 to 0x7f which the list of keys lets through.
std::vector<std::uint64_t> injected_in(const Scenario& scenario) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0x70; key < 0x80 && scenario.control.lost > 0; ++key) {
    if (!scenario.only || std::ranges::binary_search(*scenario.only, key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

Trial fails_with_client_7_and_the_key(const Scenario& scenario) {
  Trial trial;
  trial.injected = injected_in(scenario);
  if (client_7(scenario) != nullptr && std::ranges::find(trial.injected, kBadKey) != trial.injected.end()) {
    trial.finding = Finding{"page", "written by nobody", "", 7};
  }
  return trial;
}

Scenario drawn() {
  Scenario scenario = draw_scenario(*find_profile("all"), 3);
  scenario.control.lost = 0.3;
  scenario.notice.delayed = 0.2;
  scenario.timed = {{Fault::crash, {Role::decode, 0}, {}, Duration(5'000), Duration(70'000)},
                    {Fault::slow, {Role::prefill, 1}, {}, Duration(5'000), Duration(70'000)}};
  return scenario;
}

bool never() {
  return false;
}

TEST_CASE("shrink: what stays is the one client, the one key and nothing else") {
  const Scenario start = drawn();
  const Finding finding = *fails_with_client_7_and_the_key(start).finding;
  const Shrunk shrunk = shrink(start, finding, fails_with_client_7_and_the_key, {never, {}});
  CHECK(shrunk.complete);
  CHECK(shrunk.finding.rule == "page");
  Scenario expected;
  expected.seed = start.seed;
  expected.routers = expected.prefill = expected.decode = 1;
  expected.heartbeat = Duration{0};
  expected.control.lost = 0.3;
  expected.only = {kBadKey};
  expected.delay_max = Duration{0};
  ClientPlan client;
  client.index = 7;
  expected.clients = {client};
  CHECK_MESSAGE(shrunk.scenario == expected, script_text(shrunk.scenario));
  CHECK(size_text(shrunk.scenario) == "1 client, 0 timed faults, 1 message fault, 1+1 ranks");
  CHECK(shrunk.runs < 500);
}

TEST_CASE("shrink: a request gets as short as the bug lets it, a fault of a rank stays if it matters") {
  const auto attempt = [](const Scenario& scenario) {
    Trial trial;
    const ClientPlan* client = client_7(scenario);
    const bool crash = std::ranges::any_of(
        scenario.timed, [](const TimedFault& timed) { return timed.fault == Fault::crash && timed.at.count() > 900; });
    if (client != nullptr && client->prompt_tokens >= 13 && client->max_tokens >= 2 && scenario.decode == 2 && crash) {
      trial.finding = Finding{kAbortRule, "check failed", "x.cc:3", {}};
    }
    return trial;
  };
  Scenario start = drawn();
  start.decode = 2;
  start.clients.at(7).prompt_tokens = 80;
  start.clients.at(7).max_tokens = 20;
  const Shrunk shrunk = shrink(start, *attempt(start).finding, attempt, {never, {}});
  REQUIRE(shrunk.scenario.clients.size() == 1);
  CHECK(shrunk.scenario.clients[0].prompt_tokens == 13);
  CHECK(shrunk.scenario.clients[0].max_tokens == 2);
  CHECK(shrunk.scenario.prefill == 1);
  CHECK(shrunk.scenario.decode == 2);
  REQUIRE(shrunk.scenario.timed.size() == 1);
  CHECK(shrunk.scenario.timed[0].at.count() > 900);
  CHECK(shrunk.scenario.timed[0].at.count() < 1'200);
  CHECK(shrunk.scenario.timed[0].length.count() == 0);
  CHECK(shrunk.scenario.control.lost == 0);
  CHECK_FALSE(shrunk.scenario.only);
}

TEST_CASE("shrink: another bug met on the way is not taken for this one") {
  const auto attempt = [](const Scenario& scenario) {
    Trial trial;
    trial.finding = Finding{scenario.clients.size() > 10 ? "page" : "deadline", "", "", {}};
    return trial;
  };
  const Shrunk shrunk = shrink(drawn(), Finding{"page", "", "", {}}, attempt, {never, {}});
  CHECK(shrunk.scenario.clients.size() == 11);
  CHECK(shrunk.finding.rule == "page");
  CHECK_FALSE(same_bug({kAbortRule, "", "a.cc:1", {}}, {kAbortRule, "", "a.cc:2", {}}));
}

TEST_CASE("shrink: it stops when told to and keeps what it has") {
  unsigned asked = 0;
  const ShrinkOptions options{[&] { return ++asked > 6; }, {}};
  const Scenario start = drawn();
  const Shrunk shrunk = shrink(start, Finding{"page", "", "", 7}, fails_with_client_7_and_the_key, options);
  CHECK_FALSE(shrunk.complete);
  CHECK(shrunk.runs == 6);
  CHECK(shrunk.scenario.clients.size() < start.clients.size());
  CHECK(fails_with_client_7_and_the_key(shrunk.scenario).finding);
}

TEST_CASE("ddmin: exactly what is needed stays, in order") {
  std::vector<int> list(100);
  for (int i = 0; i < 100; ++i) {
    list[static_cast<std::size_t>(i)] = i;
  }
  const std::set<int> needed{3, 50, 51, 99};
  const auto holds = [&](const std::vector<int>& rest) {
    return std::ranges::all_of(needed, [&](int n) { return std::ranges::find(rest, n) != rest.end(); });
  };
  CHECK(ddmin(list, holds) == std::vector<int>{3, 50, 51, 99});
  CHECK(ddmin(list, [](const std::vector<int>&) { return true; }).empty());
  CHECK(ddmin(list, [](const std::vector<int>&) { return false; }) == list);
  CHECK(ddmin(std::vector<int>{}, holds).empty());
}

}  // namespace
}  // namespace baton::chaos
