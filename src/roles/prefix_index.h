// What a router remembers of which rank it sent which prefix: a guess at the ranks' prefix caches, without asking them.
//
// A table from keys of prefixes (model/kv/prefix_keys.h) to the last few ranks that got them. Not every page has an
// entry, only every grain-th, so that a long prompt costs a hundred entries and not a thousand. Entries are forgotten
// when the table is full, those not used for longest first and of one prompt the later pages first, much as the caches
// do. Because of that order a prefix that is known is known from its start, and the end of what is known is found by
// halving: a look-up costs the logarithm of the prompt's length, whatever the number of ranks.
//
// On the router's context. A guess only: a wrong one costs time and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/kv/key_table.h"
#include "model/kv/recency_list.h"
#include "roles/policy/routing.h"

namespace baton {

class PrefixIndex final {
 public:
  // Ranks that one prefix is remembered with. More have it only if it is so popular that any rank soon has it.
  static constexpr std::size_t kRanksMax = 8;

  struct Limits {
    std::uint32_t page_tokens = 16;
    std::uint32_t grain_pages = 8;      // pages from one entry to the next
    std::uint32_t entries_max = 65536;  // about 64 bytes each
  };

  explicit PrefixIndex(Limits limits);

  // The request with these keys goes to the rank. Ranks are numbered below 65,536.
  void sent(std::span<const std::uint64_t> keys, std::size_t rank);

  // Which ranks are expected to have how much of the prompt: those with the most for certain, others as far as a few
  // look-ups show, which may be less than they have. Each once. Valid until the next call.
  std::span<const policy::PrefixHit> match(std::span<const std::uint64_t> keys);

  // The rank has been started again: its cache is empty.
  void forget(std::size_t rank);

  std::size_t size() const noexcept { return table_.size(); }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::array<std::uint16_t, kRanksMax> ranks{};  // the latest first
    std::uint8_t count = 0;

    void add(std::uint16_t rank) noexcept;
    void remove(std::uint16_t rank) noexcept;
  };

  std::size_t steps(std::span<const std::uint64_t> keys) const { return keys.size() / limits_.grain_pages; }
  std::uint64_t key_of(std::span<const std::uint64_t> keys, std::size_t step) const {  // steps count from 1
    return keys[step * limits_.grain_pages - 1];
  }
  std::uint32_t make_entry(std::uint64_t key);
  void add_hits(const Entry& entry, std::size_t step);

  Limits limits_;
  KeyTable table_;
  std::vector<Entry> entries_;
  RecencyList recency_;
  std::vector<policy::PrefixHit> hits_;
};

}  // namespace baton
