// Board: the page that the parent and its workers share. Workers take seeds from it and leave their counts on it, so
// that nothing is lost with a worker that dies.
//
// Each slot is written by one worker and read by the parent. Seeds go by their index, from zero.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/explorer/finding.h"
#include "sim/explorer/tally.h"

namespace baton::chaos {

inline constexpr std::uint64_t kNoIndex = ~std::uint64_t{0};

// Memory that lives on in both processes after a fork. Zeroed; pages that nobody touches cost nothing.
class SharedMemory final {
 public:
  explicit SharedMemory(std::size_t bytes);  // throws std::system_error
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();
  std::byte* data() const noexcept { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

class WorkerSlot final {
 public:
  // Worker.
  void begin(std::uint64_t index, std::int64_t now_ns) noexcept;
  void end() noexcept { index_ = kNoIndex; }
  void publish(const Tally& tally) noexcept;
  void tell(std::uint64_t index, const Finding& finding) noexcept;  // once; long texts are cut

  // Parent.
  std::uint64_t index() const noexcept { return index_; }  // of the seed it is at; kNoIndex: between two
  std::int64_t since_ns() const noexcept { return since_ns_; }
  void add_to(Tally& tally) const noexcept;
  struct Told {
    std::uint64_t index;
    Finding finding;
  };
  std::optional<Told> told() const;

 private:
  static constexpr std::size_t kWord = 64;

  std::atomic<std::uint64_t> index_{kNoIndex};
  std::atomic<std::int64_t> since_ns_{0};
  std::array<std::atomic<std::uint64_t>, 4 + kFaults> counts_{};
  std::array<std::atomic<std::uint64_t>, Coverage::kCells / kWord> reached_{};
  std::bitset<Coverage::kCells> published_;  // the worker's own
  std::atomic<bool> has_told_{false};
  std::uint64_t told_index_ = 0;
  std::optional<std::uint32_t> told_request_;
  std::array<char, 64> rule_{};
  std::array<char, 4096> message_{};
};

class Board final {
 public:
  // Digests take memory for each seed.
  Board(std::uint64_t seeds, unsigned workers, bool digests);

  std::uint64_t seeds() const noexcept { return seeds_; }
  std::optional<std::uint64_t> take() noexcept;   // the next index; none: all are taken, or one failed
  void failed(std::uint64_t index) noexcept;      // keeps the lowest
  std::uint64_t lowest_failure() const noexcept;  // kNoIndex: none
  WorkerSlot& slot(unsigned worker) const noexcept { return slots_[worker]; }
  std::span<WorkerSlot> slots() const noexcept { return slots_; }
  Tally tally() const;

  void put_digest(std::uint64_t index, std::uint64_t digest) noexcept;
  std::optional<std::uint64_t> digest(std::uint64_t index) const noexcept;

 private:
  struct Head {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> lowest_failure{kNoIndex};
  };
  struct Digest {
    std::uint64_t value;
    std::atomic<bool> known;
  };

  std::uint64_t seeds_;
  SharedMemory head_memory_;
  SharedMemory slot_memory_;
  SharedMemory digest_memory_;
  Head& head_;
  std::span<WorkerSlot> slots_;
  Digest* digests_;  // null: none are kept
};

}  // namespace baton::chaos
