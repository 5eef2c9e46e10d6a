// One leg of a hand-over for the tests of the rank at its other end: a hub with a prefill and a decode peer, the decode
// peer's poisoned pool, and everything a rank is built from.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "roles/output.h"
#include "roles/peer_watch.h"
#include "roles/rank_metrics.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "runtime/trace.h"
#include "sim/sim_context.h"
#include "sim/toy_engine.h"
#include "tests/support/recording_link.h"
#include "tests/support/run.h"
#include "transport/endpoint_receiver.h"
#include "transport/endpoint_sender.h"
#include "transport/inmemory/in_memory_hub.h"

namespace baton::test {

template <class AnyEngine>
struct LegBench {
  static constexpr std::uint64_t kModelHash = 9;

  SimContext context;
  MetricsRegistry registry;
  AnyEngine engine{context, ToyEngineConfig{}};
  InMemoryHub hub{MemoryMode::shared};
  KvArena arena;
  KvPool pool;
  PeerId prefill{{Role::prefill, 0}, {1, 1}};
  PeerId decode{{Role::decode, 0}, {2, 2}};
  std::unique_ptr<Endpoint> to_decode = hub.attach(context, prefill, nullptr);
  std::unique_ptr<Endpoint> to_prefill = hub.attach(context, decode, &arena);
  EndpointSender sender{context, *to_decode, engine.kv_layout(), kModelHash};
  EndpointReceiver receiver{context, *to_prefill, engine.kv_layout(), kModelHash};
  RecordingLink link;
  TextRules rules;
  RankMetrics metrics;
  PeerWatch peers;
  EventTrace trace{1000};
  Scope scope{context, "bench"};

  LegBench(std::uint32_t pages, RankId tested)
      : arena(engine.kv_layout(), pages),
        pool(engine.kv_layout(), pages, &arena),
        metrics(registry, tested),
        peers(context, tested == prefill.rank ? prefill : decode, link, {}) {}

  Job job(std::uint64_t room, std::uint32_t tokens, std::uint32_t max_tokens,
          Duration limit = std::chrono::seconds(10)) {
    auto request = std::make_shared<GenerationRequest>();
    request->prompt = std::vector<TokenId>(tokens, 5);
    request->stop.max_tokens = max_tokens;
    return {RoomId{room}, request, prefill, decode, context.now(), context.now() + limit};
  }

  // The states a room was in when the event happened, as they were noted.
  std::vector<std::uint64_t> states(const char* event, std::uint64_t room) const {
    std::vector<std::uint64_t> found;
    for (const TraceEvent& noted : trace.events()) {
      if (noted.name == std::string_view(event) && noted.id == room) {
        found.push_back(noted.a);
      }
    }
    return found;
  }

  // Runs the rank with its peer's serve() and a script beside it, then stops it and demands that nothing is left.
  template <class Rank, class Script>
  void run_rank(Rank& rank, Task<> peer, Script script) {
    const auto live = [&]() -> Task<> {
      TaskHandle serve = scope.spawn("peer", std::move(peer));
      scope.spawn("rank", rank.run());
      co_await script();
      rank.stop();
      co_await sleep_until(context, context.now() + std::chrono::seconds(1));
      serve.cancel();
      co_await scope.join();
    };
    test::run(context, live());
    CHECK(rank.drained());
    CHECK(pool.drained());
  }
};

}  // namespace baton::test
