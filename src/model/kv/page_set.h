// A set of page numbers that gives its lowest ones at once: a tree of 64-bit words, each bit of which says whether the
// word below it holds anything.
//
// Six levels span any 32-bit number, three span 262,144 pages; what is added or taken together costs one word a level
// for each 64 neighbours. A plain value, one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/ids.h"

namespace baton {

class PageSet final {
 public:
  // Empty, for the numbers below `bound`.
  explicit PageSet(std::uint32_t bound);

  std::uint32_t size() const noexcept { return size_; }
  void fill() noexcept;  // with all numbers below the bound

  PageId lowest() const noexcept;  // REQUIRES that it is not empty
  // Takes the `count` lowest out and appends them in order. REQUIRES that so many are in.
  void take_lowest(std::uint32_t count, std::vector<PageId>& into);
  // No effect for those that are in. Quickest for neighbours one after the other.
  void add(std::span<const PageId> pages) noexcept;

 private:
  void take_bits(std::uint32_t word, std::uint64_t bits) noexcept;
  void add_bits(std::uint32_t word, std::uint64_t bits) noexcept;

  std::uint32_t bound_;
  std::uint32_t size_ = 0;
  std::vector<std::vector<std::uint64_t>> levels_;  // the pages' own bits first, the single top word last
};

}  // namespace baton
