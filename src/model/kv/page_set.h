// A set of page numbers that gives its lowest one at once: a tree of 64-bit words, each bit of which says whether the
// word below it holds anything.
//
// Six levels span any 32-bit number, three span 262,144 pages; adding and taking cost one word a level. A plain value,
// one thread.
#pragma once

#include <cstdint>
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
  void add(PageId page) noexcept;  // no effect if it is in
  void remove(PageId page) noexcept;

 private:
  std::uint32_t bound_;
  std::uint32_t size_ = 0;
  std::vector<std::vector<std::uint64_t>> levels_;  // the pages' own bits first, the single top word last
};

}  // namespace baton
