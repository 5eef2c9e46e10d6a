#include "roles/decode.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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
  // Quarantined pages come back when their senders close; they stop at the same time as this rank.
  while (!drained()) {
    co_await room_gone_.wait_until(parts_.context.now() + kDrainPoll);
  }
  scope_.cancel();
}

void DecodeRank::stop() {
  parts_.context.post([this] {
    stopping_ = true;
    std::vector<DecodeRoom*> open_rooms;
    for (const auto& [id, room] : rooms_) {
      open_rooms.push_back(room.get());
    }
    for (DecodeRoom* room : open_rooms) {
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
  if (tombstones_.contains(id) || rooms_.contains(id)) {
    return;  // a cancel or prefill's refusal overtook the job, or the job came twice
  }
  const std::string origin = to_string(parts_.self.rank);
  if (stopping_) {
    return refuse(job, Failure(Errc::unavailable, origin, "the rank is shutting down"));
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
  note("stray landing", landing.id.room);
  parts_.metrics.failure();
}

void DecodeRank::take(CancelRoom cancel) {
  if (const auto found = rooms_.find(cancel.room); found != rooms_.end()) {
    return fail(*found->second, std::move(cancel.cause));
  }
  tombstones_.add(cancel.room, std::move(cancel.cause), parts_.context.now());
  deadline_.notify();
}

// Prefill refused the room or failed before it had the landing; it told the router as well.
void DecodeRank::take(LegFailed failed) {
  take(CancelRoom(failed.room, std::move(failed.failure)));
}

void DecodeRank::take(PeersGone gone) {
  for (const PeerId& peer : gone.peers) {
    if (parts_.receiver != nullptr) {
      parts_.receiver->peer_gone(peer);
    }
  }
}

void DecodeRank::refuse(const Job& job, Failure cause) {
  if (job.prefill != job.decode) {
    parts_.link.post(job.prefill.rank, CancelRoom(job.room, cause));
  }
  parts_.link.post_router(job.router, LegFailed(job.room, parts_.self.rank, cause));
  tombstones_.add(job.room, std::move(cause), parts_.context.now());
  deadline_.notify();
}

// The first cause ends the room: at once, or when the step, copy or transfer that uses it has let go.
void DecodeRank::fail(DecodeRoom& room, Failure cause) {
  if (room.failure) {
    return;
  }
  room.failure = std::move(cause);
  parts_.metrics.failure();
  const bool prefill_works = room.state == DecodeRoom::State::prealloc || room.state == DecodeRoom::State::transfer;
  if (prefill_works && room.job.prefill != room.job.decode) {
    parts_.link.post(room.job.prefill.rank, CancelRoom(room.job.room, *room.failure));
  }
  if (room.state == DecodeRoom::State::transfer) {
    const TransferId id{parts_.self.instance, room.job.room};
    return parts_.receiver->abandon(id, *room.failure);  // await_transfer gets the verdict and closes
  }
  if (!room.busy) {
    close(room);
  }
}

// The last token is out: the finish event goes after it, in the same message.
void DecodeRank::finish(DecodeRoom& room) {
  FinishEvent event = room.output.finish();
  event.usage.prompt_tokens = static_cast<std::uint32_t>(room.prompt().size());
  event.usage.cached_tokens = room.cached_tokens;
  event.timeline = room.timeline(parts_.context.now());
  events_[room.job.router].emplace_back(room.job.room, std::move(event));
  close(room);
}

// Forgets the room; the last thing that happens to it. Its pages and its host copy go with it.
void DecodeRank::close(DecodeRoom& room) {
  const RoomId id = room.job.room;
  note("over", id, room.output.tokens().size(), room.failure ? static_cast<std::uint64_t>(room.failure->code) : 0);
  take_out(queue(room.state), room);
  if (room.failure) {
    parts_.link.post_router(room.job.router, LegFailed(id, parts_.self.rank, *room.failure));
  }
  deadlines_.remove(room.job.deadline, id);
  tombstones_.add(id, room.failure, parts_.context.now());
  rooms_.erase(id);
  admission_.notify();
  work_.notify();
  deadline_.notify();
  room_gone_.notify();
}

Task<> DecodeRank::watch_deadlines() {
  for (;;) {
    const TimePoint now = parts_.context.now();
    while (const std::optional<RoomId> id = deadlines_.expired(now)) {
      DecodeRoom& room = *rooms_.at(*id);
      deadlines_.remove(room.job.deadline, *id);  // a room that has to finish a step first must not be found again
      fail(room,
           Failure(Errc::timeout, to_string(parts_.self.rank),
                   fmt::format("the request's deadline passed after {} output tokens", room.output.tokens().size())));
    }
    const TimePoint next = std::min(deadlines_.next(), tombstones_.expire(now));
    co_await deadline_.wait_until(next);
  }
}

void DecodeRank::move(DecodeRoom& room, DecodeRoom::State to) {
  take_out(queue(room.state), room);
  room.state = to;
  note(queue(to).name().c_str(), room.job.room, room.tokens(), room.lease.size());
  put_in(queue(to), room);
}

RoomQueue<DecodeRoom>& DecodeRank::queue(DecodeRoom::State state) {
  switch (state) {
    case DecodeRoom::State::prealloc:
      return prealloc_;
    case DecodeRoom::State::transfer:
      return transfer_;
    case DecodeRoom::State::ready:
      return ready_;
    case DecodeRoom::State::running:
      return running_;
    case DecodeRoom::State::retracted:
      return retracted_;
  }
  return prealloc_;
}

void DecodeRank::update_metrics() {
  parts_.metrics.queue("prealloc", prealloc_.size());
  parts_.metrics.queue("transfer", transfer_.size());
  parts_.metrics.queue("ready", ready_.size());
  parts_.metrics.queue("running", running_.size());
  parts_.metrics.queue("retracted", retracted_.size());
  parts_.metrics.pool(parts_.pool);
}

}  // namespace baton
