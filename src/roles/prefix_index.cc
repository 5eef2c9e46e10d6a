#include "roles/prefix_index.h"

#include <algorithm>

#include "runtime/check.h"

namespace baton {

PrefixIndex::PrefixIndex(Limits limits) : limits_(limits), recency_(limits.entries_max) {
  BATON_CHECK(limits.page_tokens > 0 && limits.grain_pages > 0 && limits.entries_max > 0);
}

// From the end of the prompt to its start, so that the start is the last to be forgotten.
void PrefixIndex::sent(std::span<const std::uint64_t> keys, std::size_t rank) {
  BATON_CHECK(rank <= 0xffff, rank);
  for (std::size_t step = steps(keys); step > 0; --step) {
    const std::uint64_t key = key_of(keys, step);
    std::uint32_t slot = table_.find(key);
    if (slot == KeyTable::kNone) {
      slot = make_entry(key);
    } else {
      recency_.remove(slot);
    }
    recency_.add(slot);
    entries_[slot].add(static_cast<std::uint16_t>(rank));
  }
}

std::span<const policy::PrefixHit> PrefixIndex::match(std::span<const std::uint64_t> keys) {
  hits_.clear();
  std::size_t known = 0;  // steps that are there for certain
  std::size_t unknown = steps(keys) + 1;
  while (known + 1 < unknown) {
    const std::size_t middle = known + (unknown - known) / 2;
    (table_.find(key_of(keys, middle)) != KeyTable::kNone ? known : unknown) = middle;
  }
  for (std::size_t step = known; step > 0; step = step * 3 / 4) {  // who has got less of it than all that is known
    if (const std::uint32_t slot = table_.find(key_of(keys, step)); slot != KeyTable::kNone) {
      add_hits(entries_[slot], step);
    }
  }
  return hits_;
}

void PrefixIndex::forget(std::size_t rank) {
  for (Entry& entry : entries_) {
    entry.remove(static_cast<std::uint16_t>(rank));
  }
}

std::uint32_t PrefixIndex::make_entry(std::uint64_t key) {
  auto slot = static_cast<std::uint32_t>(entries_.size());
  if (slot < limits_.entries_max) {
    entries_.emplace_back();
  } else {
    slot = recency_.oldest();
    recency_.remove(slot);
    table_.remove(entries_[slot].key, slot);
  }
  entries_[slot] = {key, {}, 0};
  table_.add(key, slot);
  return slot;
}

void PrefixIndex::add_hits(const Entry& entry, std::size_t step) {
  const auto tokens = static_cast<std::uint32_t>(step * limits_.grain_pages * limits_.page_tokens);
  for (std::size_t i = 0; i < entry.count; ++i) {
    const std::size_t rank = entry.ranks[i];
    if (std::ranges::find(hits_, rank, &policy::PrefixHit::rank) == hits_.end()) {
      hits_.push_back({rank, tokens});
    }
  }
}

// To the front; where there is no place, the one that got it longest ago goes.
void PrefixIndex::Entry::add(std::uint16_t rank) noexcept {
  auto* const end = ranks.begin() + count;
  auto* at = std::find(ranks.begin(), end, rank);
  if (at == end) {
    count = static_cast<std::uint8_t>(std::min<std::size_t>(count + 1U, kRanksMax));
    at = ranks.begin() + count - 1;
  }
  std::move_backward(ranks.begin(), at, at + 1);
  ranks.front() = rank;
}

void PrefixIndex::Entry::remove(std::uint16_t rank) noexcept {
  auto* const end = ranks.begin() + count;
  auto* const kept = std::remove(ranks.begin(), end, rank);
  count = static_cast<std::uint8_t>(kept - ranks.begin());
}

}  // namespace baton
