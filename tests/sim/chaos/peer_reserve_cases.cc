// More of what users of other PD runtimes met: growth, metrics, messages that make no sense, several samples, and who
// chooses the ranks.
//
// Q2 (llm-d-router#2853, a stale prefix index after a restart) has no counterpart: there is no prefix index.
#include <list>
#include <map>
#include <sstream>
#include <variant>
#include <vector>

#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"
#include "tests/support/impatient.h"
#include "tests/support/toy_world.h"
#include "transport/faulty/faulty_endpoint.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::Outcome;
using test::ToyWorld;

// Twelve requests that grow to 12 pages each, and 40 pages. Without reserve some give their pages back and come again;
// with all of the growth set aside nobody has to.
void growth_does_not_thrash() {
  for (const std::uint32_t lookahead : {0U, 8U, 64U}) {
    Scenario scenario = quiet_world();
    scenario.decode_pages = 40;
    scenario.lookahead_tokens = lookahead;
    for (std::uint32_t i = 0; i < 12; ++i) {
      add_client(scenario, microseconds(100 + 10 * i), 8, 40).time_limit = std::chrono::seconds(5);
    }
    const RunReport report = play(scenario, {.keep_history = true});
    const std::size_t retractions = events_of(report, kDecode, "on retract").size();
    expect(report.finished >= 12, "everybody is served");
    expect(report.virtual_time < std::chrono::milliseconds(400), "in the time that so many steps take");
    expect(retractions <= 24, "without giving back and taking again for ever");
    expect((retractions == 0) == (lookahead == 64), "and where all growth was set aside, never");
  }
}

// The samples of the registry's text that are not zero, added to those that were not before.
void gather(const MetricsRegistry& metrics, std::map<std::string, double>& largest) {
  std::istringstream lines(metrics.prometheus_text());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    if (line.starts_with("#") || space == std::string::npos) {
      continue;
    }
    double& value = largest[line.substr(0, space)];
    value = std::max(value, std::stod(line.substr(space + 1)));
  }
}

// A hand-over takes its time, so that who waits for one can be seen.
class SlowWrites final : public FaultPlan {
 public:
  baton::Fault next(const FaultPoint& point) override {
    return point.is_write ? baton::Fault{FaultKind::delay, microseconds(500), 0} : baton::Fault{};
  }
};

// The largest values that a watcher saw while clients came, were served, gave up and ran out of time.
void watch_metrics(bool copying, std::map<std::string, double>& largest) {
  NodeConfig config = test::small_node();
  config.copying = copying;
  config.prefix_cache = copying;
  config.decode_pages = 14;
  config.prefill_pages = 8;
  config.decode.admission.lookahead_tokens = 0;
  ToyEngineConfig engine;
  engine.page_tokens = 4;
  SlowWrites plan;
  std::list<FaultyEndpoint> endpoints;
  ToyWorld world(config, engine, [&](Context& context, Endpoint& inner) -> Endpoint& {
    return endpoints.emplace_back(context, inner, plan);
  });
  std::vector<Outcome> outcomes(12);
  const auto clients = [&]() -> Task<> {
    Scope scope(world.context, "clients");
    for (std::uint32_t i = 0; i < outcomes.size(); ++i) {
      GenerationRequest request = world.request(9, 20, i % 4);
      if (i == 5) {
        request.time_limit = milliseconds(1);
      }
      const Duration patience = i % 3 == 1 ? Duration(microseconds(150 * i)) : Duration(std::chrono::seconds(9));
      scope.spawn("client", impatient(world, std::move(request), microseconds(200 * i), patience, false, outcomes[i]));
    }
    while (scope.live() > 0) {
      gather(world.metrics, largest);
      co_await sleep_until(world.context, world.context.now() + microseconds(23));
    }
    co_await scope.join();
  };
  world.run(clients());
  gather(world.metrics, largest);
}

// What the counters must come to when everything ends well.
void metrics_add_up() {
  ToyWorld world(test::small_node());
  std::vector<GenerationRequest> requests;
  for (std::uint32_t i = 0; i < 5; ++i) {
    requests.push_back(world.request(10 + i, 3 + i, i));
  }
  run_all(world, requests);
  std::map<std::string, double> values;
  gather(world.metrics, values);
  expect(values.at("baton_requests_finished_total") == 5, "five ended well");
  expect(values.at("baton_requests_failed_total") == 0, "and none otherwise");
  expect(values.at(R"(baton_computed_tokens_total{rank="0",role="prefill"})") == 10 + 11 + 12 + 13 + 14,
         "prefill computed the prompts");
  expect(values.at(R"(baton_computed_tokens_total{rank="0",role="decode"})") == 2 + 3 + 4 + 5 + 6,
         "decode all tokens but the first ones");
}

void every_metric_moves() {
  metrics_add_up();
  std::map<std::string, double> largest;
  watch_metrics(true, largest);   // where prefill has a pool
  watch_metrics(false, largest);  // where a step holds pages that decode gave up
  for (const auto& [name, value] : largest) {
    // A histogram is judged by its count: some stages take no virtual time.
    const bool bucket = name.find("_bucket{") < name.size() || name.find("_sum{") < name.size();
    const bool prefill = name.find("prefill") != std::string::npos;
    // Prefill's rooms give no pages back before their end, nobody writes into its pool, and no job is late here.
    const bool never = prefill && (name.starts_with("baton_retractions") || name.find("quarantined") < name.size() ||
                                   name.find("early_landings") < name.size());
    expect(bucket || never || value > 0, name + " moves");
  }
}

// A link that hands its node messages which nobody sent, some about a room that is open.
class Forger final : public ControlLink {
 public:
  explicit Forger(ControlLink& inner) : inner_(inner) {}

  void post(RankId to, RankMessage message) override {
    const Job* job = std::get_if<Job>(&message);
    if (job == nullptr || to.role != Role::decode) {
      return inner_.post(to, std::move(message));
    }
    const Job known = *job;
    inner_.post(to, std::move(message));
    forge(known);
  }
  void post_router(RankId router, RouterMessage message) override { inner_.post_router(router, std::move(message)); }

 private:
  void forge(const Job& job) {
    const RoomId nobody{++next_};
    const PeerId stranger{{Role::decode, 77}, {9, 9}};
    for (const RankId rank : {kPrefill, kDecode}) {
      inner_.post(rank, Landing(TransferId{{3, 3}, nobody}, stranger, stranger, 0, 0, 4'000'000'000U, 12'345,
                                {0, 4'000'000'000U}, 999));
      inner_.post(rank,
                  Landing(TransferId{job.decode.instance, RoomId{0}}, job.decode, job.prefill, 1, 7, 0, 0, {}, 1));
      inner_.post(rank, CancelRoom(RoomId{nobody.value + 1'000}, Failure()));
      inner_.post(rank, LegFailed(RoomId{nobody.value + 2'000}, stranger.rank, Failure()));
      inner_.post(rank, PeersGone({stranger, {{Role::router, 0}, {0, 0}}}));
      inner_.post(rank, Job(RoomId{nobody.value + 3'000}, job.request, stranger, stranger, job.arrived, job.deadline));
    }
    inner_.post_router(job.router, PrefillDone(nobody));
    inner_.post_router(job.router, LegFailed(nobody, stranger.rank, Failure()));
    inner_.post_router(job.router, Heartbeat(stranger));
    inner_.post_router(job.router, RoomEvents({}));
    std::vector<RoomEvent> events;
    events.emplace_back(nobody, 0, GenerationEvent(FinishEvent(Failure())));
    events.emplace_back(job.room, 4'000'000'000U, GenerationEvent(TokenEvent(SampledToken(1, 0, {}), "forged")));
    inner_.post_router(job.router, RoomEvents(std::move(events)));
  }

  ControlLink& inner_;
  std::uint64_t next_ = 100;
};

void senseless_messages_cost_nobody() {
  for (const bool copying : {false, true}) {
    NodeConfig config = test::small_node();
    config.copying = copying;
    std::vector<std::unique_ptr<Forger>> forgers;
    ToyWorld world(config, {}, {}, [&](RankId self, ControlLink& inner) -> ControlLink& {
      if (self.role != Role::router) {
        return inner;
      }
      return *forgers.emplace_back(std::make_unique<Forger>(inner));
    });
    std::vector<GenerationRequest> requests;
    for (std::uint32_t i = 0; i < 8; ++i) {
      requests.push_back(world.request(12 + 5 * i, 4 + i, i));
    }
    const std::vector<Outcome> outcomes = run_all(world, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      expect(outcomes[i].ok() && outcomes[i].tokens == world.reference(requests[i]), "every request is served");
    }
    expect(world.drained_after_run, "nothing is left of what was forged");
  }
}

// n samples of one prompt are n rooms.
void samples_do_not_share_a_room() {
  ToyWorld world(test::small_node(2, 2));
  std::vector<GenerationRequest> requests(4, world.request(30, 8, 1));
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    requests[i].client_id = "one request";
    requests[i].sampling.seed = sample_seed(1, i);
  }
  const std::vector<Outcome> outcomes = run_all(world, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    expect(outcomes[i].ok() && outcomes[i].tokens == world.reference(requests[i]), "every sample has its own tokens");
    expect(outcomes[i].ended < TimePoint(milliseconds(50)), "soon");
  }
}

// There are no data-parallel ranks inside of an instance. What can go wrong the same way: two legs that each choose
// their peer. Here the job names both, and both legs get the same pair, from every router.
void both_legs_know_the_same_pair() {
  Scenario scenario = quiet_world(3, 3);
  scenario.routers = 2;
  for (std::uint32_t i = 0; i < 40; ++i) {
    add_client(scenario, microseconds(100 + 60 * i), 5 + i, 3).router = i % 2;
  }
  const RunReport report = play(scenario, {.keep_history = true});
  for (std::uint32_t i = 0; i < 40; ++i) {
    std::size_t prefills = 0;
    std::size_t decodes = 0;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      prefills += events_of(report, {Role::prefill, rank}, "bootstrap", i).size();
      decodes += events_of(report, {Role::decode, rank}, "prealloc", i).size();
    }
    expect(report.outcomes.at(i).ok(), "served");
    expect(prefills == 1 && decodes == 1, "by one rank of each kind");
  }
}

}  // namespace

std::vector<NamedCase> peer_reserve_cases() {
  return {
      {"Q1: requests that outgrow the pool are all served without thrashing", "sglang#30033", growth_does_not_thrash},
      {"Q3: every metric of the split moves, by the right amount", "sglang#16832", every_metric_moves},
      {"Q4: messages that make no sense cost nobody anything", "lmdeploy#4965", senseless_messages_cost_nobody},
      {"Q6: the samples of one request are rooms of their own", "sglang#26486", samples_do_not_share_a_room},
      {"Q7: both legs of a request know the same pair of ranks", "sglang#29725", both_legs_know_the_same_pair},
  };
}

}  // namespace baton::chaos
