// What the decode rank does when pages run out: someone gives theirs back and returns later. Meanwhile what was in them
// is kept in host memory, or forgotten, but for what the cache keeps of it, and computed once more.
#include <algorithm>
#include <utility>

#include "model/kv/prefix_keys.h"
#include "roles/decode.h"
#include "roles/policy/retraction.h"
#include "runtime/mutants.h"

namespace baton {

// Pages the room lacks for the tokens that have no keys and values yet, and for those the engine drafts.
std::uint32_t DecodeRank::pages_wanted(const DecodeRoom& room) const {
  const std::uint32_t drafts = room.output.tokens().empty() ? 0 : parts_.engine.drafts();
  const std::uint32_t needed = parts_.pool.layout().pages_for(std::min(room.tokens() + drafts, room.tokens_max()));
  return needed > room.lease.size() ? needed - room.lease.size() : 0;
}

// Extends the leases for the next step. Where pages are short, victims are retracted; whoever still lacks a page sits
// the step out, and goes on when a transfer has become retractable or a request has ended.
Task<> DecodeRank::make_room() {
  std::vector<DecodeRoom*> rooms;
  std::vector<policy::RetractionCandidate> candidates;
  std::uint64_t short_of = 0;
  running_.for_each([&](const DecodeRoom* room) { short_of += pages_wanted(*room); });
  const bool recompute = config_.retraction == policy::Retraction::recompute;
  const bool tight = short_of > parts_.pool.available();
  const auto add = [&](DecodeRoom* room) {
    rooms.push_back(room);
    const std::uint32_t wanted = room->state == DecodeRoom::State::running ? pages_wanted(*room) : 0;
    const std::uint32_t pages = tight ? parts_.pool.returned_by(room->lease) : room->lease.size();
    candidates.push_back({static_cast<std::uint32_t>(room->output.tokens().size()),
                          static_cast<std::uint32_t>(room->prompt().size()), pages, wanted,
                          (recompute || room->computed >= room->prompt().size()) && !room->busy});
  };
  running_.for_each(add);
  ready_.for_each(add);
  std::vector<std::size_t> victims = policy::choose_victims(candidates, parts_.pool.available(), config_.victims);
  if (victims.empty() && config_.retract_every != 0 && steps_ >= forced_retraction_ + config_.retract_every) {
    victims = policy::choose_one_victim(candidates, config_.victims);
    forced_retraction_ = steps_;
  }
  if (mutant(Mutant::decode_never_retracts)) {
    victims.clear();
  }
  std::vector<RoomId> ids;
  for (const std::size_t index : victims) {
    rooms[index]->busy = true;
    ids.push_back(rooms[index]->job.room);
  }
  for (const RoomId id : ids) {
    co_await retract(*rooms_.at(id));
  }
  running_.for_each([&](DecodeRoom* room) {
    if (const std::uint32_t wanted = pages_wanted(*room); wanted > 0 && !room->failure) {
      parts_.pool.extend(room->lease, wanted);
    }
  });
}

Task<> DecodeRank::retract(DecodeRoom& room) {
  saw(room_event::kRetract, room.job.room);
  if (config_.retraction == policy::Retraction::copy) {
    const std::uint32_t left_out = mutant(Mutant::resume_without_keys) ? 1 : 0;
    const std::uint32_t used = parts_.pool.layout().pages_for(room.computed) - left_out;
    co_await room.backup.save(parts_.context, parts_.engine, parts_.arena, room.lease.pages().first(used));
  }
  room.busy = false;
  if (room.failure) {
    co_return close(room);
  }
  if (config_.retraction == policy::Retraction::recompute) {
    parts_.pool.keep(room.lease, page_names(room, room.computed));
  }
  room.lease.release();
  ++room.retractions;
  parts_.metrics.retraction();
  move(room, DecodeRoom::State::retracted);
}

// Those of the retracted for whom the policy finds room: the first retracted first, or, where the latest of the batch
// go, the last retracted first, who came before them.
std::vector<DecodeRoom*> DecodeRank::who_returns() {
  std::vector<policy::ActiveRequest> waiting = retracted_requests();
  std::vector<DecodeRoom*> rooms;
  retracted_.for_each([&rooms](DecodeRoom* room) { rooms.push_back(room); });
  for (std::size_t i = 0; config_.retraction == policy::Retraction::recompute && i < rooms.size(); ++i) {
    waiting[i].pages_shared = parts_.pool.found_in_use(page_names(*rooms[i], rooms[i]->tokens() - 1));
  }
  if (config_.victims == policy::Victims::latest) {
    std::reverse(waiting.begin(), waiting.end());
    std::reverse(rooms.begin(), rooms.end());
  }
  rooms.resize(policy::resume(waiting, active_requests(), parts_.pool.available(), config_.admission));
  return rooms;
}

// Brings retracted requests back. No second hand-over: the keys and values come from the host copy or are computed
// again, and the next token is drawn at the position where it would have been.
Task<> DecodeRank::resume_retracted() {
  if (retracted_.empty()) {
    co_return;  // the usual case, before every step
  }
  std::vector<RoomId> ids;
  for (DecodeRoom* room : who_returns()) {
    room->busy = true;
    ids.push_back(room->job.room);
  }
  const bool again = config_.retraction == policy::Retraction::recompute;
  for (const RoomId id : ids) {
    DecodeRoom& room = *rooms_.at(id);
    const std::vector<std::uint64_t> names = again ? page_names(room, room.tokens() - 1) : std::vector<std::uint64_t>();
    std::optional<KvLease> lease = parts_.pool.acquire(parts_.pool.layout().pages_for(room.tokens()), names);
    if (lease && !room.failure) {
      saw(room_event::kResume, id);
      room.lease = std::move(*lease);
      if (again) {
        compute_again(room);
      } else {
        co_await room.backup.restore(parts_.context, parts_.engine, parts_.arena, room.lease.pages());
      }
      move(room, DecodeRoom::State::ready);
    }
    room.busy = false;
    if (room.failure) {
      close(room);
    }
  }
  if (!ids.empty()) {
    admission_.notify();  // who is new waits for the last of them
  }
}

// What the cache calls the whole pages of the first `tokens` of prompt and output. Of the prompt alone where it has no
// names for all of its pages.
std::vector<std::uint64_t> DecodeRank::page_names(const DecodeRoom& room, std::uint32_t tokens) const {
  const std::span<const std::uint64_t> prefix = room.job.request->prefix;
  const std::uint32_t page_tokens = parts_.pool.layout().page_tokens;
  const std::size_t whole = room.prompt().size() / page_tokens;
  if (!parts_.pool.has_cache() || prefix.empty()) {
    return {};
  }
  const std::size_t most = tokens / page_tokens;
  if (prefix.size() != whole || most <= whole) {
    const std::span<const std::uint64_t> named = prefix.first(std::min({prefix.size(), whole, most}));
    return {named.begin(), named.end()};
  }
  std::vector<TokenId> rest(room.prompt().begin() + static_cast<std::ptrdiff_t>(whole * page_tokens),
                            room.prompt().end());
  rest.insert(rest.end(), room.output.tokens().begin(), room.output.tokens().end());
  std::vector<std::uint64_t> names(prefix.begin(), prefix.end());
  const std::vector<std::uint64_t> more = prefix_keys(rest, page_tokens, prefix.back());
  names.insert(names.end(), more.begin(), more.end());
  names.resize(std::min(names.size(), most));
  return names;
}

// From what the cache has of its prompt on, to its last token.
void DecodeRank::compute_again(DecodeRoom& room) {
  room.computed = room.lease.found() * parts_.pool.layout().page_tokens;
  room.again.assign(room.prompt().begin(), room.prompt().end());
  room.again.insert(room.again.end(), room.output.tokens().begin(), room.output.tokens().end());
}

}  // namespace baton
