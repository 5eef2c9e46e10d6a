// The hand-over as the roles see it: decode says where, prefill writes there, and decode gets exactly one verdict.
//
//   decode:   landing = receiver.expect(...)   --landing, by control message-->   prefill: outgoing =
//   sender.open(landing)
//             arrival = co_await receiver.arrived(id, deadline)                            co_await outgoing->push(...)
//             per chunk
//                                                                                          co_await
//                                                                                          outgoing->finish(record)
//
// The receiver goes first: it reserves the pages, so that a write never waits for room. This fits one-sided writes
// (libfabric) and matched send and receive (NCCL posts its receives when it makes the landing). Success is counted at
// the target: every page, every write, the record and the echoed identity, in any order. A sender's own idea of having
// finished counts for nothing.
//
// Memory safety: pages of a landing belong to its sender until that sender has said that no write of its can land any
// more. Abandoning or timing out gives a verdict at once, but the pages stay in quarantine until then, or until
// peer_gone says that the sender is lost; it is shut out first, so that no write of it can land afterwards.
//
// Every notice may be lost. The receiver asks a sender that keeps pages in quarantine again and again, and a sender
// says of a room it has not open that nothing can land; finish() repeats what has not been answered. What was lost for
// good ends at a deadline.
//
// Every object here lives on one rank's context and is used from that thread only. The rank spawns serve() of its
// sender or receiver in a Scope; without it nothing is delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "model/kv/kv_lease.h"
#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/task.h"
#include "runtime/time.h"
#include "transport/transfer.h"

namespace baton {

// One hand-over on the prefill side. Destroying it, at whatever stage, tells the receiver exactly once that no write of
// this sender can land any more; a receiver that has not succeeded by then fails with failure(), or with aborted if
// there is none. Not destroyed while push() or finish() runs, nor while an engine writes into direct_arena(), nor after
// its sender.
class Outgoing {
 public:
  virtual ~Outgoing() = default;
  virtual const Landing& landing() const noexcept = 0;

  // Base of the arena that landing().pages index, when the engines of this process may compute straight into it: the
  // hand-over then moves no bytes. Null: compute elsewhere and let push() copy.
  virtual std::byte* direct_arena() noexcept = 0;

  // Hands over landing pages [first_page, first_page + source_pages.size()), whole pages, computed and final. The bytes
  // are those of source_pages in source_arena (ignored when direct_arena() is used, where only the count matters). A
  // page may be pushed again; the last push wins. Completes when the pages are applied at the target and the source may
  // be changed. Source pages and arena must stay valid until it completes, and the span with them.
  // Cancelled: throws, but not before the writes it has posted can land no more; the hand-over has then failed with
  // aborted. One push at a time.
  // Fails with the code of failure(): aborted (the target abandoned the room; prefill may stop computing), peer_lost,
  // transfer_failed, invalid_argument (pages outside of the landing). After a failure nothing can succeed any more.
  virtual Task<Result<>> push(std::uint32_t first_page, std::span<const PageId> source_pages,
                              const std::byte* source_arena) = 0;

  // Sends the record and waits for the target's answer that everything was counted. Called once, after every push has
  // completed; from then on nothing may write into direct_arena(), since the target may be using its pages already.
  // Says record and writes again, with growing pauses, until the answer or the deadline.
  // Fails as push() does, and with timeout at the deadline. Cancelled: throws, and the hand-over has failed with
  // aborted on this side, though it may have arrived.
  virtual Task<Result<>> finish(SideRecord record, TimePoint deadline) = 0;

  // Ends the hand-over with a cause, which the receiver gets at once; the first cause stays. Pages remain quarantined
  // at the target until this object is destroyed.
  virtual void fail(Failure cause) noexcept = 0;

  // The first cause of failure: own, or the target's when it abandoned the room. Set by the time push() or finish()
  // fails; worth a look between two chunks.
  virtual const std::optional<Failure>& failure() const noexcept = 0;
};

// What open() gives: an outgoing hand-over, or why not. A refused landing has been refused to its receiver too.
struct Opened {
  std::unique_ptr<Outgoing> outgoing;
  Failure refusal;  // means something only without outgoing

  Opened() = default;
  explicit Opened(std::unique_ptr<Outgoing> outgoing_in) : outgoing(std::move(outgoing_in)) {}
  explicit Opened(Failure refusal_in) : refusal(std::move(refusal_in)) {}
  explicit operator bool() const noexcept { return outgoing != nullptr; }
};

class KvSender {
 public:
  virtual ~KvSender() = default;

  // Takes a landing up. Compares layout, model and sizes with this rank's, and the target with those that can be
  // reached; no byte moves before. Each landing is opened or refused, once; a second time is refused and harms nobody.
  // One whose target has given the room up meanwhile is refused with the target's cause.
  virtual Opened open(const Landing& landing) = 0;

  // For a landing that will never be opened (request aborted, prompt refused, draining): its receiver gets the failure
  // as its verdict and its pages back.
  virtual void refuse(const Landing& landing, Failure cause) noexcept = 0;

  // The target died or was replaced: its open hand-overs fail with peer_lost. Writes that are under way end by
  // themselves, with an error.
  virtual void peer_gone(const PeerId& target) noexcept = 0;

  // Delivers answers, and answers for rooms that are not open. Spawned once; runs until cancelled or the transport
  // closes.
  virtual Task<> serve() = 0;

  virtual std::size_t open_transfers() const noexcept = 0;  // Outgoing objects alive
};

// The single verdict of a hand-over. ok(): the lease's pages hold the prompt's keys and values, and record is whole.
// Otherwise failure is the first cause; the lease is empty, its pages are free or in quarantine.
struct Arrival {
  std::optional<Failure> failure;
  KvLease lease;
  SideRecord record;

  Arrival() = default;
  explicit Arrival(Failure failure_in) : failure(std::move(failure_in)) {}
  Arrival(KvLease lease_in, SideRecord record_in) : lease(std::move(lease_in)), record(std::move(record_in)) {}
  bool ok() const noexcept { return !failure; }
};

// What decode knows when it makes room. The lease covers positions [0, prompt_tokens): exactly
// KvLayout::pages_for(prompt_tokens) pages. Those before first_position, which is on a page boundary, hold their
// contents already (KvLease::found); they are read and not written by the hand-over, and are held as long as the rest.
struct Expectation {
  RoomId room;
  PeerId source;
  KvLease lease;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t first_position = 0;

  Expectation() = default;
  Expectation(RoomId room_in, PeerId source_in, KvLease lease_in, std::uint32_t prompt_tokens_in,
              std::uint32_t first_position_in = 0)
      : room(room_in),
        source(source_in),
        lease(std::move(lease_in)),
        prompt_tokens(prompt_tokens_in),
        first_position(first_position_in) {}
};

class KvReceiver {
 public:
  virtual ~KvReceiver() = default;

  // Takes the lease and says where to write. From here on the room ends in exactly one of: arrived() ending, or
  // abandon(); whoever drops the landing without either leaks the pages. Fails, and the lease returns its pages, with
  // invalid_argument when the room is open or was lately, or when the lease's size does not fit the token counts, and
  // with peer_lost when the source is known to be gone.
  virtual Result<Landing> expect(Expectation expectation) = 0;

  // Waits for the verdict. At the deadline it abandons the room itself, with Errc::timeout. One caller a room; a room
  // that is not open (abandoned before) gives a failure at once. Cancelled: throws, and the room has been abandoned.
  virtual Task<Arrival> arrived(TransferId id, TimePoint deadline) = 0;

  // The caller has lost interest: an arrived() that waits completes with this cause at once, the sender is told to
  // stop, and the pages stay in quarantine until it has. Where nobody waits in arrived(), the room is forgotten, a
  // verdict that has come with its pages too. No effect on a room that is unknown.
  virtual void abandon(TransferId id, Failure cause) noexcept = 0;

  // The peer is lost, whether it has ended or only seems to: it is shut out (Endpoint::fence), its open rooms fail with
  // peer_lost and its quarantined pages return. REQUIRES, where the peer computes straight into this rank's memory
  // (Outgoing::direct_arena), that it has really ended: such writes cannot be shut out.
  virtual void peer_gone(const PeerId& source) noexcept = 0;

  // Takes notices in, and repeats answers that were not heard. Spawned once; runs until cancelled or the transport
  // closes.
  virtual Task<> serve() = 0;

  virtual std::size_t open_transfers() const noexcept = 0;  // rooms without a verdict, or whose verdict nobody took yet
  virtual std::size_t quarantined() const noexcept = 0;     // abandoned or failed rooms whose sender may still write
  virtual std::uint64_t late_notices() const noexcept = 0;  // notices of rooms that had ended, or were never known
};

}  // namespace baton
