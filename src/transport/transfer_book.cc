#include "transport/transfer_book.h"

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/mutants.h"
#include "transport/wire.h"

namespace baton {

TransferBook::TransferBook(PeerId self, std::size_t recent_max)
    : self_(self), origin_(to_string(self)), recent_(recent_max) {}

bool TransferBook::open(Expectation& expectation, std::uint32_t pages) {
  const TransferId id{self_.instance, expectation.room};
  if (rooms_.contains(id) || quarantine_.contains(id) || recent_.contains(id)) {
    return false;
  }
  CountedTransfer counted(id, expectation.prompt_tokens, pages, origin_);
  rooms_.try_emplace(id, expectation.source, std::move(expectation.lease), std::move(counted));
  return true;
}

bool TransferBook::apply(Notice notice) {
  const bool anybodys = mutant(Mutant::record_fits_any_room) && notice.kind == NoticeKind::record;
  const auto found = anybodys ? rooms_.begin() : rooms_.find(notice.id);
  if (found == rooms_.end() || found->second.concluded() || found->second.source != notice.from) {
    apply_late(notice);
    return false;
  }
  return apply_open(found->second, std::move(notice));
}

bool TransferBook::apply_open(Room& room, Notice notice) {
  switch (notice.kind) {
    case NoticeKind::written:
      room.counted.count_write(notice.sequence, notice.first_page, notice.pages);
      break;
    case NoticeKind::record:
      take_record(room, notice);
      break;
    case NoticeKind::failed:
    case NoticeKind::closed: {
      Failure cause = notice.failure
                          ? std::move(*notice.failure)
                          : Failure(Errc::aborted, origin_, "the sender ended the hand-over before it was complete");
      fail(notice.id, room, std::move(cause), notice.kind == NoticeKind::failed && !mutant(Mutant::failed_frees_pages));
      break;
    }
    case NoticeKind::answer:
      ++late_notices_;  // answers go to senders; whoever sends one here is confused, and the room goes on
      break;
  }
  if (!room.failure && room.counted.failure()) {
    fail(notice.id, room, *room.counted.failure(), true);
    answer(notice.id, room.source, room.failure);
  } else if (!room.failure && room.counted.complete()) {
    answer(notice.id, room.source, std::nullopt);
  }
  return room.concluded();
}

void TransferBook::take_record(Room& room, const Notice& notice) {
  auto record = decode_side_record(notice.body);
  if (!record) {
    fail(notice.id, room, Failure(Errc::corrupt, origin_, "the side record cannot be read"), true);
    answer(notice.id, room.source, room.failure);
  } else if (!room.counted.take_record(std::move(*record))) {
    ++late_notices_;  // another room's record says nothing about this one, which goes on waiting for its own
  }
}

void TransferBook::apply_late(const Notice& notice) {
  const auto found = quarantine_.find(notice.id);
  if (found != quarantine_.end() && found->second.source == notice.from) {
    if (notice.kind == NoticeKind::closed && !mutant(Mutant::closed_keeps_quarantine)) {
      recent_.insert(notice.id, found->second.cause);
      quarantine_.erase(found);
      return;
    }
    const bool goes_on = notice.kind == NoticeKind::written || notice.kind == NoticeKind::record;
    if (goes_on && !mutant(Mutant::late_write_unanswered)) {
      // The sender goes on, so it cannot have had the first answer, or had it before it opened the room.
      answer(notice.id, notice.from, found->second.cause);
    }
  } else if (notice.kind == NoticeKind::record) {
    repeat_verdict(notice);
  }
  ++late_notices_;
}

void TransferBook::repeat_verdict(const Notice& record) {
  const auto found = rooms_.find(record.id);
  if (mutant(Mutant::no_repeated_success)) {
    return;
  }
  if (found != rooms_.end()) {
    if (found->second.concluded() && found->second.source == record.from) {
      answer(record.id, record.from, found->second.failure);
    }
  } else if (const auto* outcome = recent_.outcome(record.id)) {
    answer(record.id, record.from, *outcome);
  }
}

void TransferBook::answer_again(const TransferId& id) {
  const auto found = quarantine_.find(id);
  if (found != quarantine_.end() && !mutant(Mutant::no_quarantine_probe)) {
    answer(id, found->second.source, found->second.cause);
  }
}

bool TransferBook::abandon(const TransferId& id, Failure cause) {
  const auto found = rooms_.find(id);
  if (found == rooms_.end() || found->second.concluded()) {
    return false;
  }
  Room& room = found->second;
  fail(id, room, std::move(cause), !mutant(Mutant::abandon_frees_pages));
  answer(id, room.source, room.failure);
  return true;
}

std::vector<TransferId> TransferBook::peer_gone(const PeerId& source, const Failure& cause) {
  std::erase_if(quarantine_, [&](const auto& entry) { return entry.second.source == source; });
  std::vector<TransferId> concluded;
  for (auto& [id, room] : rooms_) {
    if (room.source == source && !room.concluded()) {
      fail(id, room, cause, false);
      concluded.push_back(id);
    }
  }
  return concluded;
}

bool TransferBook::has_verdict(const TransferId& id) const {
  const auto found = rooms_.find(id);
  return found != rooms_.end() && found->second.concluded();
}

Arrival TransferBook::take(const TransferId& id) {
  const auto found = rooms_.find(id);
  BATON_CHECK(found != rooms_.end() && found->second.concluded());
  Room room = std::move(found->second);
  rooms_.erase(found);
  recent_.insert(id, room.failure);
  if (room.failure) {
    return Arrival(std::move(*room.failure));
  }
  return Arrival(std::move(room.lease), room.counted.record());
}

void TransferBook::fail(const TransferId& id, Room& room, Failure cause, bool may_still_write) {
  room.failure = std::move(cause);
  if (may_still_write) {
    quarantine_.try_emplace(id, room.source, room.lease.pin(), *room.failure);
  }
  room.lease.release();
}

void TransferBook::answer(const TransferId& id, const PeerId& to, std::optional<Failure> failure) {
  answers_.emplace_back(to, Notice(NoticeKind::answer, id, self_, std::move(failure)));
}

}  // namespace baton
