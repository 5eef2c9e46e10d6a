// The receiving rank's account of its rooms: what is expected, what has been counted, and which pages wait for a
// sender's last word.
//
//   open --all counted--------------------> verdict ok      --take()--> recent
//    |---failed, corrupt, abandoned-------> verdict failure --take()--> recent     pages: quarantine until closed
//    '---closed early, peer gone----------> verdict failure --take()--> recent     pages: free at once
//
// A sender that repeats its record has not heard the answer and gets it again, while the room is remembered. Rooms are
// kept in order of their ids, so that pages return and answers leave in an order that repeats itself.
//
// Pure: no clock, no tasks, no I/O. Answers that must be posted are collected for the caller. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/kv/kv_lease.h"
#include "runtime/errors.h"
#include "transport/counted_transfer.h"
#include "transport/endpoint.h"
#include "transport/recent_ids.h"
#include "transport/transfer.h"
#include "transport/transport.h"

namespace baton {

class TransferBook final {
 public:
  // self: the receiving rank, as origin of failures and answers.
  explicit TransferBook(PeerId self, std::size_t recent_max = kRecentRoomsMax);

  // Opens a room in which the last `pages` of its lease are to arrive. False if it is open, in quarantine or recent;
  // the expectation's lease then stays with the caller.
  bool open(Expectation& expectation, std::uint32_t pages);

  // Takes one notice in. What does not belong to an open room is counted, never an error. Returns true if this gave the
  // notice's room its verdict.
  bool apply(Notice notice);

  // Gives an open room its failure and puts its pages in quarantine. False if the room has no verdict to get.
  bool abandon(const TransferId& id, Failure cause);

  // Ends everything of a sender that cannot write any more. Returns the rooms that got their verdict by it.
  std::vector<TransferId> peer_gone(const PeerId& source, const Failure& cause);

  // Answers the sender of a room in quarantine again: it may not have heard. Does nothing for another room.
  void answer_again(const TransferId& id);

  bool in_quarantine(const TransferId& id) const { return quarantine_.contains(id); }
  bool known(const TransferId& id) const { return rooms_.contains(id); }
  bool has_verdict(const TransferId& id) const;
  Arrival take(const TransferId& id);  // REQUIRES has_verdict(id); the room is recent afterwards

  // Answers to post, in order; empties the list.
  std::vector<std::pair<PeerId, Notice>> take_answers() { return std::exchange(answers_, {}); }

  std::size_t open_transfers() const noexcept { return rooms_.size(); }
  std::size_t quarantined() const noexcept { return quarantine_.size(); }
  std::uint64_t late_notices() const noexcept { return late_notices_; }

 private:
  struct Room {
    PeerId source;
    KvLease lease;
    CountedTransfer counted;
    std::optional<Failure> failure;

    Room(PeerId source_in, KvLease lease_in, CountedTransfer counted_in)
        : source(source_in), lease(std::move(lease_in)), counted(std::move(counted_in)) {}
    bool concluded() const noexcept { return failure || counted.complete(); }
  };
  struct Quarantine {
    PeerId source;
    KvPin pin;
    Failure cause;  // said again to a sender that goes on

    Quarantine(PeerId source_in, KvPin pin_in, Failure cause_in)
        : source(source_in), pin(std::move(pin_in)), cause(std::move(cause_in)) {}
  };

  bool apply_open(Room& room, Notice notice);
  void apply_late(const Notice& notice);
  void repeat_verdict(const Notice& record);
  void take_record(Room& room, const Notice& notice);
  void fail(const TransferId& id, Room& room, Failure cause, bool may_still_write);
  void answer(const TransferId& id, const PeerId& to, std::optional<Failure> failure);

  PeerId self_;
  std::string origin_;
  std::map<TransferId, Room> rooms_;
  std::map<TransferId, Quarantine> quarantine_;
  RecentIds recent_;
  std::vector<std::pair<PeerId, Notice>> answers_;
  std::uint64_t late_notices_ = 0;
};

}  // namespace baton
