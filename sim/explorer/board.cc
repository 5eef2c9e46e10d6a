#include "sim/explorer/board.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include <sys/mman.h>

namespace baton::chaos {
namespace {

template <std::size_t kBytes>
void put_text(std::array<char, kBytes>& place, const std::string& text) noexcept {
  const std::size_t length = std::min(text.size(), kBytes - 1);
  std::copy_n(text.data(), length, place.data());
  place[length] = '\0';
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  data_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() {
  ::munmap(data_, bytes_);
}

void WorkerSlot::begin(std::uint64_t index, std::int64_t now_ns) noexcept {
  since_ns_ = now_ns;  // first, so that a seed just begun never looks old
  index_ = index;
}

void WorkerSlot::publish(const Tally& tally) noexcept {
  const std::array<std::uint64_t, 4> sums{tally.seeds, tally.requests, tally.finished, tally.failed};
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].store(i < sums.size() ? sums[i] : tally.faults[i - sums.size()], std::memory_order_relaxed);
  }
  if (tally.coverage.reached == published_) {
    return;
  }
  published_ = tally.coverage.reached;
  for (std::size_t i = 0; i < Coverage::kCells; ++i) {
    if (published_[i]) {
      reached_[i / kWord].fetch_or(std::uint64_t{1} << (i % kWord), std::memory_order_relaxed);
    }
  }
}

void WorkerSlot::add_to(Tally& tally) const noexcept {
  const auto count = [this](std::size_t i) { return counts_[i].load(std::memory_order_relaxed); };
  tally.seeds += count(0);
  tally.requests += count(1);
  tally.finished += count(2);
  tally.failed += count(3);
  for (std::size_t i = 0; i < kFaults; ++i) {
    tally.faults[i] += count(4 + i);
  }
  for (std::size_t i = 0; i < Coverage::kCells; ++i) {
    if ((reached_[i / kWord].load(std::memory_order_relaxed) >> (i % kWord)) & 1) {
      tally.coverage.reached.set(i);
    }
  }
}

void WorkerSlot::tell(std::uint64_t index, const Finding& finding) noexcept {
  told_index_ = index;
  told_request_ = finding.request;
  put_text(rule_, finding.rule);
  put_text(message_, finding.message);
  has_told_ = true;
}

std::optional<WorkerSlot::Told> WorkerSlot::told() const {
  if (!has_told_) {
    return std::nullopt;
  }
  return Told{told_index_, Finding{rule_.data(), message_.data(), "", told_request_}};
}

Board::Board(std::uint64_t seeds, unsigned workers, bool digests)
    : seeds_(seeds),
      head_memory_(sizeof(Head)),
      slot_memory_(workers * sizeof(WorkerSlot)),
      digest_memory_(digests ? seeds * sizeof(Digest) : 1),
      head_(*new(head_memory_.data()) Head),
      digests_(digests ? reinterpret_cast<Digest*>(digest_memory_.data()) : nullptr) {
  auto* first = reinterpret_cast<WorkerSlot*>(slot_memory_.data());
  std::uninitialized_default_construct_n(first, workers);
  slots_ = {first, workers};
}

std::optional<std::uint64_t> Board::take() noexcept {
  if (lowest_failure() != kNoIndex) {
    return std::nullopt;
  }
  const std::uint64_t index = head_.next.fetch_add(1);
  return index < seeds_ ? std::optional(index) : std::nullopt;
}

void Board::failed(std::uint64_t index) noexcept {
  std::uint64_t lowest = head_.lowest_failure;
  while (index < lowest && !head_.lowest_failure.compare_exchange_weak(lowest, index)) {
  }
}

std::uint64_t Board::lowest_failure() const noexcept {
  return head_.lowest_failure;
}

Tally Board::tally() const {
  Tally tally;
  for (const WorkerSlot& slot : slots_) {
    slot.add_to(tally);
  }
  return tally;
}

void Board::put_digest(std::uint64_t index, std::uint64_t digest) noexcept {
  if (digests_ != nullptr) {
    digests_[index].value = digest;
    digests_[index].known = true;
  }
}

std::optional<std::uint64_t> Board::digest(std::uint64_t index) const noexcept {
  if (digests_ == nullptr || !digests_[index].known) {
    return std::nullopt;
  }
  return digests_[index].value;
}

}  // namespace baton::chaos
