// Prompts that share their beginnings: what is computed once is found again, and nobody can tell by the tokens.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include <doctest/doctest.h>

#include "runtime/errors.h"
#include "tests/support/impatient.h"
#include "tests/support/pick.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

constexpr std::uint32_t kPage = 16;  // of the toy engine

// Whose pool holds the cache.
enum class Where { prefill, aggregated, decode };
constexpr std::array kEverywhere{Where::prefill, Where::aggregated, Where::decode};

NodeConfig cached_node(Where where = Where::prefill) {
  NodeConfig config = small_node();
  config.aggregated = where == Where::aggregated;
  config.copying = where == Where::prefill;
  config.prefix_cache = true;
  return config;
}

// A prompt that begins with `shared` tokens of the family's own text and goes on with others.
GenerationRequest family_request(const ToyWorld& world, std::uint64_t family, std::uint32_t shared, std::uint32_t more,
                                 std::uint32_t max_tokens, std::uint64_t seed) {
  GenerationRequest request = world.request(more, max_tokens, seed);
  Random random(family);
  std::vector<TokenId> prompt;
  for (std::uint32_t i = 0; i < shared; ++i) {
    prompt.push_back(static_cast<TokenId>(random.uniform(997)));
  }
  prompt.insert(prompt.end(), request.prompt.begin(), request.prompt.end());
  request.prompt = std::move(prompt);
  return request;
}

// One request after the other.
std::vector<Outcome> run_in_turn(ToyWorld& world, const std::vector<GenerationRequest>& requests) {
  std::vector<Outcome> outcomes;
  const auto client = [&]() -> Task<> {
    for (const GenerationRequest& request : requests) {
      outcomes.push_back(co_await world.ask(request));
    }
  };
  world.run(client());
  return outcomes;
}

std::vector<std::uint32_t> cached_tokens(const std::vector<Outcome>& outcomes) {
  std::vector<std::uint32_t> tokens;
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.ok());
    tokens.push_back(outcome.finish.usage.cached_tokens);
  }
  return tokens;
}

// Breaks every so many steps: leaves garbage in all pages of the step and reports that the device failed.
class BreakingEngine final : public Engine {
 public:
  BreakingEngine(Context& context, std::uint64_t seed) : inner_(context, {}), random_(seed) {}

  Task<StepOutput> step(StepBatch batch) override {
    if (random_.chance(0.1)) {
      for (const StepSequence& sequence : batch.sequences) {
        const std::uint32_t first = sequence.position / kPage;
        const auto last = static_cast<std::uint32_t>((sequence.position + sequence.tokens.size() - 1) / kPage);
        for (std::uint32_t i = first; i <= last; ++i) {
          const std::size_t bytes = kv_layout().page_bytes();
          std::memset(sequence.arena + sequence.pages[i] * bytes, 0x5a, bytes);
        }
      }
      throw Error(Errc::internal, "the device failed");
    }
    Task<StepOutput> pending = inner_.step(std::move(batch));
    co_return co_await std::move(pending);
  }
  const KvLayout& kv_layout() const noexcept override { return inner_.kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_.vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_.context_length(); }

 private:
  ToyEngine inner_;
  Random random_;
};

}  // namespace

TEST_CASE("PrefixCache: the same prompt again computes its last page only, whole pages alone are shared") {
  for (const Where where : kEverywhere) {
    CAPTURE(static_cast<int>(where));
    ToyWorld world(cached_node(where));
    const GenerationRequest request = world.request(100, 8);
    const GenerationRequest whole = world.request(96, 8);
    const std::vector<Outcome> outcomes = run_in_turn(world, {request, request, whole, whole});
    CHECK(cached_tokens(outcomes) == std::vector<std::uint32_t>{0, 96, 0, 80});
    for (const Outcome& outcome : outcomes) {
      CHECK(outcome.tokens == world.reference(&outcome < &outcomes[2] ? request : whole));
    }
    CHECK(outcomes[1].finish.timeline.chunks == 1);
    CHECK(outcomes[1].first_token - outcomes[0].ended < outcomes[0].first_token - TimePoint{});
    CHECK(world.drained_after_run);
  }
}

TEST_CASE("PrefixCache: a conversation's next turn finds the turn before") {
  for (const Where where : kEverywhere) {
    CAPTURE(static_cast<int>(where));
    ToyWorld world(cached_node(where));
    std::vector<GenerationRequest> turns{world.request(40, 8)};
    for (std::uint32_t turn = 1; turn < 5; ++turn) {
      GenerationRequest next = world.request(30, 8, turn + 1);
      std::vector<TokenId> prompt(turns.back().prompt.begin(), turns.back().prompt.end());
      prompt.insert(prompt.end(), next.prompt.begin(), next.prompt.end());
      next.prompt = std::move(prompt);
      turns.push_back(next);
    }
    const std::vector<Outcome> outcomes = run_in_turn(world, turns);
    CHECK(cached_tokens(outcomes) == std::vector<std::uint32_t>{0, 32, 64, 96, 128});
    CHECK(outcomes.back().tokens == world.reference(turns.back()));
  }
}

TEST_CASE("PrefixCache: those who wait behind a full step find what those before them computed") {
  NodeConfig config = cached_node();
  config.prefill.step.step_tokens = 64;
  ToyWorld world(config);
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 0; i < 8; ++i) {
    requests.push_back(family_request(world, 1, 160, 10, 4, i));
  }
  const std::vector<std::uint32_t> cached = cached_tokens(run_all(world, requests));
  CHECK(cached.front() == 0);
  CHECK(std::count(cached.begin(), cached.end(), 160U) >= 6);
}

TEST_CASE("PrefixCache: requests under different salts share nothing") {
  ToyWorld world(cached_node());
  GenerationRequest request = world.request(64, 4);
  GenerationRequest salted = request;
  salted.cache_salt = "tenant";
  const auto cached = cached_tokens(run_in_turn(world, {request, salted, request, salted}));
  CHECK(cached == std::vector<std::uint32_t>{0, 0, 48, 48});
}

TEST_CASE("PrefixCache: names that the front end gives are taken as they are, also too many or too few") {
  ToyWorld world(cached_node());
  GenerationRequest request = world.request(64, 4);
  request.prefix = {1, 2, 3, 4, 5, 6};
  GenerationRequest few = world.request(64, 4);
  few.prefix = {1, 2};
  const auto cached = cached_tokens(run_in_turn(world, {request, few, request}));
  CHECK(cached == std::vector<std::uint32_t>{0, 32, 48});
}

TEST_CASE("PrefixCache: without one nothing is reused") {
  NodeConfig config = cached_node();
  config.prefix_cache = false;
  ToyWorld world(config);
  const GenerationRequest request = world.request(100, 8);
  CHECK(cached_tokens(run_in_turn(world, {request, request})) == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("PrefixCache: its counters say what was asked, found and taken back") {
  NodeConfig config = cached_node();
  config.prefill_pages = 8;
  ToyWorld world(config);
  const GenerationRequest first = world.request(100, 2, 1);
  const GenerationRequest second = world.request(100, 2, 2);
  cached_tokens(run_in_turn(world, {first, first, second}));
  const std::string text = world.metrics.prometheus_text();
  const auto value = [&](const std::string& name) {
    const std::string line = name + "{rank=\"0\",role=\"prefill\"} ";
    const std::size_t at = text.find(line);
    REQUIRE(at != std::string::npos);
    return std::stoul(text.substr(at + line.size()));
  };
  CHECK(value("baton_prefix_pages_asked_total") == 18);
  CHECK(value("baton_prefix_pages_found_total") == 6);
  CHECK(value("baton_prefix_pages_evicted_total") == 5);
}

TEST_CASE("PrefixCache: prefix-aware routing sends conversations back to where they were, and spreads new ones") {
  for (const Where where : kEverywhere) {
    CAPTURE(static_cast<int>(where));
    NodeConfig config = cached_node(where);
    config.prefill_ranks = 3;
    config.decode_ranks = 3;
    config.router.routing = policy::Routing::prefix_aware;
    ToyWorld world(config);
    std::vector<GenerationRequest> requests;
    for (std::uint32_t turn = 0; turn < 4; ++turn) {
      for (std::uint64_t family = 0; family < 5; ++family) {
        requests.push_back(family_request(world, family, 130 + 200 * turn, 30, 4, 10 * turn + family));
      }
    }
    const std::vector<Outcome> outcomes = run_in_turn(world, requests);
    const std::vector<std::uint32_t> cached = cached_tokens(outcomes);
    std::set<RankId> used;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CHECK(cached[i] == (i < 5 ? 0 : (130 + 200 * (i / 5 - 1)) / kPage * kPage));
      const Timeline& line = outcomes[i].finish.timeline;
      used.insert(where == Where::prefill ? line.prefill : line.decode);
    }
    CHECK(used.size() == 3);
  }
}

TEST_CASE("PrefixCache: prefix-aware routing without a cache is refused") {
  NodeConfig config = cached_node();
  config.prefix_cache = false;
  config.router.routing = policy::Routing::prefix_aware;
  CHECK_THROWS_WITH_AS(ToyWorld{config}, doctest::Contains("needs the prefix cache"), Error);
}

// Everything at once: few pages, shared beginnings, aborts, retractions, steps that fail.
TEST_CASE("PrefixCache: storms on small pools change no token and leave no page behind") {
  std::uint64_t cached = 0;
  std::size_t finished = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Pick pick(seed);
    NodeConfig config = cached_node(kEverywhere[pick(3)]);
    config.prefill_ranks = 1 + pick(2);
    config.decode_ranks = 1 + pick(2);
    config.decode_pages = 20 + pick(30);
    config.prefill_pages = 16 + pick(20);
    config.prefill.step.step_tokens = 16 + pick(80);
    config.router.routing = static_cast<policy::Routing>(pick(5));
    config.decode.admission.lookahead_tokens = pick(40);
    config.decode.running_max = 1 + pick(12);
    config.decode.retract_every = pick.chance(0.5) ? 3 : 0;
    const bool breaks = pick.chance(0.3);
    config.decode.retraction = seed % 2 == 0 ? policy::Retraction::recompute : policy::Retraction::copy;
    config.decode.victims = seed % 4 < 2 ? policy::Victims::latest : policy::Victims::least_lost;
    config.decode.plan_ahead = seed % 3 == 0;
    ToyWorld toys(config);  // for its requests
    SimWorld world(config, [&](Context& context) -> std::unique_ptr<Engine> {
      if (breaks) {
        return std::make_unique<BreakingEngine>(context, seed);
      }
      return std::make_unique<ToyEngine>(context, ToyEngineConfig{});
    });
    constexpr std::size_t kClients = 50;
    std::vector<GenerationRequest> requests;
    std::vector<Outcome> outcomes(kClients);
    std::vector<bool> stays;
    for (std::size_t i = 0; i < kClients; ++i) {
      const std::uint32_t family = pick(4);
      const std::uint32_t shared = pick(150);
      const std::uint32_t more = 1 + pick(60);
      requests.push_back(family_request(toys, family, shared, more, 1 + pick(60), i));
      stays.push_back(pick.chance(0.7));
    }
    const auto client = [&]() -> Task<> {
      Scope scope(world.context, "clients");
      for (std::size_t i = 0; i < kClients; ++i) {
        const Duration delay = std::chrono::microseconds(pick(80'000));
        const Duration patience =
            stays[i] ? Duration(std::chrono::seconds(55)) : Duration(std::chrono::microseconds(pick(40'000)));
        const bool vanishes = !stays[i] && pick.chance(0.5);
        scope.spawn("client", impatient(world, requests[i], delay, patience, vanishes, outcomes[i]));
      }
      co_await scope.join();
    };
    world.run(client());
    for (std::size_t i = 0; i < kClients; ++i) {
      CAPTURE(i);
      CHECK((!stays[i] || outcomes[i].ok() || breaks));
      if (outcomes[i].ok()) {
        CHECK(outcomes[i].tokens == toys.reference(requests[i]));
        CHECK(outcomes[i].finish.usage.cached_tokens < requests[i].prompt.size());
        cached += outcomes[i].finish.usage.cached_tokens;
        ++finished;
      }
    }
    CHECK(world.drained_after_run);
  }
  CHECK(finished > 1500);
  CHECK(cached > 20 * finished);
}
