// Ranks for hand-over tests: prefill sides with a source arena, decode sides with a poisoned pool, on one hub and in
// virtual time, and the bytes that a page of a room must have in the end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "transport/endpoint_outgoing.h"
#include "transport/endpoint_receiver.h"
#include "transport/endpoint_sender.h"
#include "transport/faulty/faulty_endpoint.h"
#include "transport/inmemory/in_memory_hub.h"

namespace baton::test {

inline constexpr std::uint64_t kModelHash = 0x5eed;
inline constexpr InstanceId kInstance{1, 2};

inline KvLayout tiny_layout() {
  KvLayout layout;
  layout.layers = 2;
  layout.kv_heads = 1;
  layout.head_dim = 8;
  layout.page_tokens = 4;
  return layout;
}

inline PeerId decode_peer(std::uint32_t index) {
  return {{Role::decode, index}, kInstance};
}

inline PeerId prefill_peer(std::uint32_t index) {
  return {{Role::prefill, index}, kInstance};
}

// What page `index` of a room holds when it has been computed.
inline void fill_page(std::span<std::byte> page, RoomId room, std::uint32_t index) {
  for (std::size_t i = 0; i < page.size(); ++i) {
    page[i] = std::byte((room.value * 31 + index * 7 + i * 3 + 1) & 0x7f);
  }
}

inline bool page_holds(std::span<const std::byte> page, RoomId room, std::uint32_t index) {
  std::vector<std::byte> expected(page.size());
  fill_page(expected, room, index);
  return std::equal(page.begin(), page.end(), expected.begin());
}

inline bool holds_prompt(const KvArena& arena, const KvLease& lease, RoomId room) {
  std::uint32_t index = 0;
  bool all = true;
  for (const PageId page : lease.pages()) {
    all = all && page_holds(arena.page(page), room, index++);
  }
  return all;
}

inline SideRecord record_of(std::uint32_t prompt_tokens, TokenId first) {
  return {prompt_tokens, SampledToken(first, -1.0F, {}), 0, PrefillTimes{}};
}

struct PrefillSide {
  KvArena arena;  // where this rank computes when it cannot compute in place
  std::unique_ptr<Endpoint> endpoint;
  std::optional<FaultyEndpoint> faulty;
  EndpointSender sender;

  PrefillSide(Context& context, InMemoryHub& hub, std::uint32_t index, FaultPlan* plan, const KvLayout& layout,
              std::uint32_t pages)
      : arena(layout, pages),
        endpoint(hub.attach(context, prefill_peer(index), nullptr)),
        faulty(plan != nullptr ? std::optional<FaultyEndpoint>(std::in_place, context, *endpoint, *plan)
                               : std::nullopt),
        sender(context, faulty ? static_cast<Endpoint&>(*faulty) : *endpoint, layout, kModelHash) {}
};

struct DecodeSide {
  KvArena arena;
  KvPool pool;
  std::unique_ptr<Endpoint> endpoint;
  std::optional<FaultyEndpoint> faulty;
  EndpointReceiver receiver;

  DecodeSide(Context& context, InMemoryHub& hub, std::uint32_t index, FaultPlan* plan, const KvLayout& layout,
             std::uint32_t pages)
      : arena(layout, pages),
        pool(layout, pages, &arena),
        endpoint(hub.attach(context, decode_peer(index), &arena)),
        faulty(plan != nullptr ? std::optional<FaultyEndpoint>(std::in_place, context, *endpoint, *plan)
                               : std::nullopt),
        receiver(context, faulty ? static_cast<Endpoint&>(*faulty) : *endpoint, layout, kModelHash) {}

  // Room for a prompt that prefill rank `source` will compute.
  Landing expect(std::uint64_t room, std::uint32_t prompt_tokens, std::uint32_t source = 0) {
    auto lease = pool.acquire(pool.layout().pages_for(prompt_tokens));
    REQUIRE(lease.has_value());
    auto landing = receiver.expect(Expectation(RoomId{room}, prefill_peer(source), std::move(*lease), prompt_tokens));
    REQUIRE(landing.has_value());
    return std::move(*landing);
  }

  bool at_rest() const { return pool.drained() && receiver.open_transfers() == 0 && receiver.quarantined() == 0; }
};

// One prefill and one decode rank in virtual time, with the plan's faults on everything that prefill sends, and those
// of answers on what decode sends.
struct Pair {
  SimContext context;
  InMemoryHub hub;
  PrefillSide prefill;
  DecodeSide decode;
  Scope background;

  explicit Pair(MemoryMode mode, FaultPlan* plan = nullptr, std::uint32_t pages = 16,
                const KvLayout& layout = tiny_layout(), FaultPlan* answers = nullptr)
      : hub(mode),
        prefill(context, hub, 0, plan, layout, pages),
        decode(context, hub, 0, answers, layout, pages),
        background(context, "background") {
    background.spawn("sender", prefill.sender.serve());
    background.spawn("receiver", decode.receiver.serve());
    if (prefill.faulty) {
      background.spawn("faults", prefill.faulty->run());
    }
    if (decode.faulty) {
      background.spawn("faults", decode.faulty->run());
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    background.cancel();
    context.run();
  }

  TimePoint in(std::int64_t milliseconds) const { return context.now() + std::chrono::milliseconds(milliseconds); }

  // Lets everything that can happen now happen.
  void settle() { context.run_until(context.now()); }

  // Computes landing pages [first, first + pages) and hands them over.
  Task<Result<>> compute_and_push(Outgoing& outgoing, std::uint32_t first, std::uint32_t pages) {
    std::vector<PageId> source(pages);
    for (std::uint32_t i = 0; i < pages; ++i) {
      std::byte* direct = outgoing.direct_arena();
      source[i] = pages - 1 - i;  // not in the order of the target, so that runs cannot merge by luck
      const std::size_t page_bytes = prefill.arena.layout().page_bytes();
      const auto page = direct != nullptr
                            ? std::span(direct + outgoing.landing().pages[first + i] * page_bytes, page_bytes)
                            : prefill.arena.page(source[i]);
      fill_page(page, outgoing.landing().id.room, first + i);
    }
    const Result<> pushed = co_await outgoing.push(first, source, prefill.arena.base());
    co_return pushed;
  }
};

}  // namespace baton::test
