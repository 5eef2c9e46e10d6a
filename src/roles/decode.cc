#include "roles/decode.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/mutants.h"

namespace baton {
namespace {

constexpr Duration kDrainPoll = std::chrono::milliseconds(5);

}  // namespace

DecodeRank::DecodeRank(DecodeParts parts, DecodeConfig config)
    : parts_(parts),
      config_(config),
      scope_(parts.context, to_string(parts.self.rank)),
      inbox_(parts.context, "decode inbox"),
      prealloc_(parts.context, "prealloc", config.waiting_max),
      transfer_(parts.context, "transfer", config.admission.active_max),
      ready_(parts.context, "ready", config.admission.active_max),
      running_(parts.context, "running", config.admission.active_max),
      retracted_(parts.context, "retracted", config.admission.active_max),
      tombstones_(config.tombstones),
      admission_(parts.context, "decode admission"),
      work_(parts.context, "decode work"),
      deadline_(parts.context, "decode deadlines"),
      room_gone_(parts.context, "decode rooms") {
  config_.admission.page_tokens = parts.pool.layout().page_tokens;
  parts_.pool.on_pages_back([this] {
    admission_.notify();
    work_.notify();
  });
}

DecodeRank::~DecodeRank() {
  parts_.pool.on_pages_back({});
}

Task<> DecodeRank::run() {
  if (parts_.receiver != nullptr) {
    scope_.spawn("serve", parts_.receiver->serve());
  }
  scope_.spawn("heartbeat", parts_.peers.beat());
  scope_.spawn("listen", listen());
  scope_.spawn("admit", admit());
  scope_.spawn("generate", generate());
  scope_.spawn("deadlines", watch_deadlines());
  scope_.spawn("life", live());
  co_await scope_.join();
}

// Ends the rank's loops when it was stopped and nothing is left.
Task<> DecodeRank::live() {
  while (!stopping_) {
    co_await room_gone_.wait();
  }
  // Quarantined pages come back when their senders close; those go on until all decode ranks have ended.
  while (!drained()) {
    co_await room_gone_.wait_until(parts_.context.now() + kDrainPoll);
  }
  scope_.cancel();
}

void DecodeRank::stop() {
  parts_.context.post([this] {
    stopping_ = true;
    for (DecodeRoom* room : in_order(rooms_)) {
      saw(room_event::kStop, room->job.room);
      fail(*room, Failure(Errc::unavailable, to_string(parts_.self.rank), "the rank is shutting down"));
    }
    room_gone_.notify();
  });
}

bool DecodeRank::drained() const noexcept {
  const bool transfers_over =
      parts_.receiver == nullptr || (parts_.receiver->open_transfers() == 0 && parts_.receiver->quarantined() == 0);
  return rooms_.empty() && prealloc_.empty() && transfer_.empty() && ready_.empty() && running_.empty() &&
         retracted_.empty() && deadlines_.size() == 0 && transfers_over && parts_.pool.drained();
}

Task<> DecodeRank::listen() {
  while (std::optional<RankMessage> message = co_await inbox_.recv()) {
    std::visit([this](auto& body) { take(std::move(body)); }, *message);
    flush_events();
    update_metrics();
  }
}

void DecodeRank::take(Job job) {
  const RoomId id = job.room;
  saw(room_event::kJob, id);
  if (tombstones_.contains(id) || rooms_.contains(id)) {
    return;  // a cancel or prefill's refusal overtook the job, or the job came twice
  }
  const std::string origin = to_string(parts_.self.rank);
  if (stopping_) {
    return refuse(job, Failure(Errc::unavailable, origin, "the rank is shutting down"));
  }
  if (job.decode != parts_.self || parts_.peers.gone(job.decode) || parts_.peers.gone(job.prefill)) {
    return refuse(job, Failure(Errc::peer_lost, origin, "the job is for a life of this rank or its peer that is over"));
  }
  auto owned = std::make_unique<DecodeRoom>(std::move(job), parts_.rules);
  DecodeRoom* room = owned.get();
  const std::uint32_t pages = parts_.pool.capacity();
  const std::uint32_t page_tokens = config_.admission.page_tokens;
  const std::uint32_t context = parts_.engine.context_length();
  const bool fits = room->tokens_max() <= context &&
                    policy::fits_empty_pool({room->tokens(), room->tokens_max()}, pages, page_tokens);
  if (room->prompt().empty() || !fits) {
    const std::uint64_t limit = std::min<std::uint64_t>(std::uint64_t{pages} * page_tokens, context);
    return refuse(room->job, Failure(Errc::too_large, origin,
                                     fmt::format("{} prompt tokens and up to {} output tokens do not fit {} positions",
                                                 room->prompt().size(), room->job.request->stop.max_tokens, limit)));
  }
  if (prealloc_.size() >= prealloc_.capacity()) {
    return refuse(room->job, Failure(Errc::overloaded, origin,
                                     fmt::format("{} requests wait for pages already", prealloc_.size())));
  }
  room->known = parts_.context.now();
  deadlines_.add(room->job.deadline, id);
  deadline_.notify();
  rooms_.emplace(id, std::move(owned));
  put_in(prealloc_, *room);
  note("prealloc", id, room->prompt().size());
  admission_.notify();
}

// Decode ranks make landings; one that gets one was misaddressed, and its maker's deadline will end it.
void DecodeRank::take(Landing landing) {
  saw(room_event::kLanding, landing.id.room);
  parts_.metrics.failure();
}

void DecodeRank::take(CancelRoom cancel) {
  saw(room_event::kCancel, cancel.room);
  this->cancel(cancel.room, std::move(cancel.cause));
}

void DecodeRank::cancel(RoomId id, Failure cause) {
  if (const auto found = rooms_.find(id); found != rooms_.end()) {
    return fail(*found->second, std::move(cause));
  }
  if (!mutant(Mutant::decode_forgets_cancel)) {
    tombstones_.add(id, std::move(cause), parts_.context.now());
  }
  deadline_.notify();
}

// Prefill refused the room or failed before it had the landing; it told the router as well. Of a room that has been
// handed over a later life of prefill may say so, when an old job reaches it: that concerns nobody any more.
void DecodeRank::take(LegFailed failed) {
  saw(room_event::kLegFailed, failed.room);
  const auto found = rooms_.find(failed.room);
  if (found != rooms_.end() && !found->second->needs_prefill()) {
    return;
  }
  cancel(failed.room, std::move(failed.failure));
}

// A prefill rank is over. Whoever has its pages from it goes on.
void DecodeRank::take(PeersGone gone) {
  for (const PeerId& peer : parts_.peers.learn(gone)) {
    if (parts_.receiver != nullptr) {
      parts_.receiver->peer_gone(peer);  // rooms in transfer get their verdict by it
    }
    for (DecodeRoom* room : in_order(rooms_)) {
      if (room->job.prefill == peer) {
        saw(room_event::kPeerGone, room->job.room);
      }
      if (room->state == DecodeRoom::State::prealloc && room->job.prefill == peer) {
        fail(*room, Failure(Errc::peer_lost, to_string(parts_.self.rank), to_string(peer) + " is gone"));
      }
    }
  }
}

}  // namespace baton
