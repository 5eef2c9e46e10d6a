// What a backend must provide: one rank's access to the ranks it exchanges KV with.
//
// The hand-over itself (what is counted, when a verdict falls, when pages return) is written once, above this, in
// EndpointSender and EndpointReceiver. A backend only moves bytes and notices:
//
//   EndpointSender ---write(pages), post(notice)---> Endpoint ~~~~ Endpoint ---next()---> EndpointReceiver
//                  <----------next()---------------           ~~~~          <---post(notice)---
//
// What a backend may do: deliver notices late, in any order, more than once, or lose them.
// What it may not do:
//   - deliver a write's notice before all bytes of that write are applied and visible at the target;
//   - complete a write well before that either: the sender repeats a notice that was lost on the strength of it;
//   - complete a write, well or badly, while a byte of it could still land;
//   - deliver a `closed` notice while a write that was posted before it could still land;
//   - let a byte of a peer land once fence() has shut that peer out.
// For libfabric: a write is a batch of fi_writemsg with delivery completion, split and pipelined by the backend, and
// its notice is remote CQ data or a control message, held until the target has counted all of the batch's operations;
// write() completes on the last local completion, after an error only when its siblings have drained. A peer that is
// cut off has its connection torn down before write() fails, and peer_gone is told; fence() closes that peer's
// connection and withdraws the memory key it writes under. For NCCL: the target posts its
// receives when it makes the landing; write() is the matching group of sends.
//
// All members are called on the rank's own context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/errors.h"
#include "runtime/ids.h"
#include "runtime/task.h"
#include "transport/bytes.h"
#include "transport/transfer.h"

namespace baton {

enum class NoticeKind : std::uint8_t {
  written,  // sender to receiver: write `sequence` of landing pages [first_page, first_page + pages) is applied
  record,   // sender to receiver: body is the encoded SideRecord
  failed,   // sender to receiver: the room has failed; writes may still land
  closed,   // sender to receiver: no write can land any more; the sender's last word
  answer,   // receiver to sender: counted and complete, or (with a failure) abandoned
};

const char* to_string(NoticeKind kind) noexcept;

// A small message about one room. Delivered to the endpoint it is posted to, and taken from next() there.
struct Notice {
  NoticeKind kind = NoticeKind::closed;
  TransferId id;
  PeerId from;
  std::uint32_t sequence = 0;
  std::uint32_t first_page = 0;
  std::uint32_t pages = 0;
  Bytes body;
  std::optional<Failure> failure;

  Notice() = default;
  Notice(NoticeKind kind_in, TransferId id_in, PeerId from_in) : kind(kind_in), id(id_in), from(from_in) {}
  Notice(NoticeKind kind_in, TransferId id_in, PeerId from_in, std::optional<Failure> failure_in)
      : kind(kind_in), id(id_in), from(from_in), failure(std::move(failure_in)) {}

  static Notice written(TransferId id, PeerId from, std::uint32_t sequence, std::uint32_t first_page,
                        std::uint32_t pages);
  static Notice record(TransferId id, PeerId from, Bytes body);
};

// Pages that lie one after another on both sides.
struct PageRun {
  PageId source = 0;
  PageId target = 0;
  std::uint32_t pages = 0;
  friend bool operator==(const PageRun&, const PageRun&) = default;
};

// Merges neighbours: the longest runs that keep the order. Both lists have the same length.
std::vector<PageRun> merge_runs(std::span<const PageId> source, std::span<const PageId> target);

// One batch of pages to write. The source bytes stay valid and unchanged until write() has completed.
struct KvWrite {
  PeerId target;
  std::uint64_t memory_key = 0;  // Landing::memory_key
  std::size_t page_bytes = 0;
  const std::byte* source_arena = nullptr;
  std::vector<PageRun> runs;
  std::optional<Notice> notice;  // delivered to the target once all bytes are applied there; not if the write fails

  KvWrite() = default;
  KvWrite(PeerId target_in, std::uint64_t memory_key_in, std::size_t page_bytes_in, const std::byte* source_arena_in,
          std::vector<PageRun> runs_in, std::optional<Notice> notice_in)
      : target(target_in),
        memory_key(memory_key_in),
        page_bytes(page_bytes_in),
        source_arena(source_arena_in),
        runs(std::move(runs_in)),
        notice(std::move(notice_in)) {}
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const PeerId& self() const noexcept = 0;

  // The name under which peers may write into this rank's arena; 0 if it has none.
  virtual std::uint64_t memory_key() const noexcept = 0;

  // Base of the landing's arena if this process' engines may write it directly; null otherwise.
  virtual std::byte* direct_arena(const Landing& landing) noexcept = 0;

  // Why the landing's memory cannot be written from here (unknown peer, another key, pages outside); nullopt if it can.
  virtual std::optional<Failure> check(const Landing& landing) = 0;

  // Applies the write at the target. Not cancelled by cancellation of the task. Fails with peer_lost or
  // transfer_failed; some of the bytes may then have been applied, but none can be any more.
  virtual Task<Result<>> write(KvWrite write) = 0;

  // Shuts a peer instance out, for good: from the return of this call on no write of it can land in this rank's memory,
  // not even one that is under way, whose rest fails with peer_lost at the writer. Waits only for bytes that are being
  // copied at this very moment. No effect on what the peer computes straight into direct_arena(): nobody can stop that
  // but the end of its process. Harmless for a peer that is unknown, shut out already or gone.
  virtual void fence(const PeerId& peer) noexcept = 0;

  // Sends a notice. One to a peer that is gone vanishes. Bounded by the caller: a few per open room.
  virtual void post(const PeerId& to, Notice notice) noexcept = 0;

  // The next notice for this rank; nullopt once the endpoint is closed. One caller.
  virtual Task<std::optional<Notice>> next() = 0;
};

}  // namespace baton
