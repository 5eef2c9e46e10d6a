#include "model/text/bpe.h"

#include <algorithm>
#include <bit>

#include "runtime/check.h"

namespace baton {

MergeTable::MergeTable(const std::vector<Merge>& merges) : slots_(std::bit_ceil(merges.size() * 2 + 2)) {
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const std::uint64_t key = key_of(merges[rank].left, merges[rank].right);
    Entry& entry = slots_[slot_of(key)];
    if (entry.key == kEmpty) {
      entry.key = key;
      entry.rank = rank;
      entry.result = merges[rank].result;
    }
  }
}

const MergeTable::Entry* MergeTable::find(TokenId left, TokenId right) const noexcept {
  const std::uint64_t key = key_of(left, right);
  const Entry& entry = slots_[slot_of(key)];
  return entry.key == key && key != kEmpty ? &entry : nullptr;
}

std::uint64_t MergeTable::key_of(TokenId left, TokenId right) noexcept {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32U) | static_cast<std::uint32_t>(right);
}

// The slot that holds the key, or the empty one where it belongs.
std::size_t MergeTable::slot_of(std::uint64_t key) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t mixed = key * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 32U;
  std::size_t slot = mixed & mask;
  while (slots_[slot].key != kEmpty && slots_[slot].key != key) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void PieceMerger::merge(const std::vector<TokenId>& symbols, std::vector<TokenId>& out) {
  BATON_CHECK(symbols.size() < kEnd, symbols.size());
  const auto count = static_cast<std::uint32_t>(symbols.size());
  symbols_.clear();
  heap_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols_.push_back({symbols[i], i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1});
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    add_candidate(i);
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate candidate = heap_.back();
    heap_.pop_back();
    apply(candidate);
  }
  for (const Symbol& symbol : symbols_) {
    if (symbol.id >= 0) {
      out.push_back(symbol.id);
    }
  }
}

// Appends the pair that begins at this symbol to the heap's storage, if the two merge.
bool PieceMerger::add_candidate(std::uint32_t at) {
  const std::uint32_t next = symbols_[at].next;
  if (next == kEnd || symbols_[at].id < 0 || symbols_[next].id < 0) {
    return false;
  }
  const TokenId left = symbols_[at].id;
  const TokenId right = symbols_[next].id;
  const MergeTable::Entry* entry = table_->find(left, right);
  if (entry == nullptr) {
    return false;
  }
  heap_.push_back({(std::uint64_t{entry->rank} << 32U) | at, left, right});
  return true;
}

void PieceMerger::consider(std::uint32_t at) {
  if (add_candidate(at)) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
}

void PieceMerger::apply(const Candidate& candidate) {
  const auto at = static_cast<std::uint32_t>(candidate.order);
  Symbol& left = symbols_[at];
  if (left.id != candidate.left || left.next == kEnd || symbols_[left.next].id != candidate.right) {
    return;
  }
  Symbol& right = symbols_[left.next];
  left.id = table_->find(left.id, right.id)->result;
  right.id = kGone;
  left.next = right.next;
  if (left.next != kEnd) {
    symbols_[left.next].previous = at;
  }
  consider(at);
  if (left.previous != kEnd) {
    consider(left.previous);
  }
}

}  // namespace baton
