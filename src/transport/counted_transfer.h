// Decides when a hand-over is complete, by counting: every write that the record declares has been noticed, every page
// has been written, and the record is this room's. Notices come in any order and any number of times.
//
// Pure: no clock, no tasks. A write counts by its sequence number, not only by its pages, because a page may be pushed
// twice and the first push must not stand for the second.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/errors.h"
#include "transport/transfer.h"

namespace baton {

// A sender may push pages again, but not without end: the most writes that one hand-over can have.
constexpr std::uint32_t writes_max(std::uint32_t pages) noexcept {
  return 2 * pages + 16;
}

class CountedTransfer final {
 public:
  // origin: who counts, for failures ("decode/0"). pages: those of the landing, at most kTransferPagesMax.
  CountedTransfer(TransferId id, std::uint32_t prompt_tokens, std::uint32_t pages, std::string origin);

  // Write number `sequence` of the sender has been applied to landing pages [first_page, first_page + pages).
  void count_write(std::uint32_t sequence, std::uint32_t first_page, std::uint32_t pages);

  // Takes the record. One of another room is left aside, as if it had not come: false. The same one again is harmless.
  bool take_record(SideRecord record);

  // True once everything has arrived; stays so.
  bool complete() const noexcept;

  // Set when what arrived cannot belong together (out of range, totals that do not fit): Errc::corrupt. Final: such a
  // transfer never completes. One that completed cannot fail any more.
  const std::optional<Failure>& failure() const noexcept { return failure_; }

  // REQUIRES complete().
  const SideRecord& record() const;

  std::uint32_t pages_seen() const noexcept { return pages_seen_; }
  std::uint32_t writes_seen() const noexcept { return writes_seen_; }

 private:
  void fail(std::string message);
  void check_totals();

  TransferId id_;
  std::uint32_t prompt_tokens_;
  std::string origin_;
  std::vector<bool> page_seen_;
  std::vector<bool> write_seen_;  // by sequence; grows with what comes, up to writes_max
  std::uint32_t pages_seen_ = 0;
  std::uint32_t writes_seen_ = 0;
  std::optional<SideRecord> record_;
  std::optional<Failure> failure_;
};

}  // namespace baton
