// An order of small numbers by how lately each was used: the oldest is at hand, and everything costs the same however
// many there are.
//
// A doubly linked ring over two arrays of indices, for numbers below a bound. A plain value, one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/check.h"

namespace baton {

class RecencyList final {
 public:
  // Empty, for the numbers below `bound`.
  explicit RecencyList(std::uint32_t bound) : links_(std::size_t{bound} + 1), ring_(bound) {
    links_[ring_] = {ring_, ring_};
  }

  bool empty() const noexcept { return size_ == 0; }
  std::uint32_t size() const noexcept { return size_; }
  bool contains(std::uint32_t item) const noexcept { return links_[item].newer != kOut; }
  std::uint32_t oldest() const noexcept {  // REQUIRES that it is not empty
    BATON_CHECK(size_ > 0);
    return links_[ring_].newer;
  }

  // The next one after the item, which is in the list and not the newest.
  std::uint32_t after(std::uint32_t item) const noexcept { return links_[item].newer; }

  // Puts the item at the new end. REQUIRES that it is not in the list.
  void add(std::uint32_t item) noexcept {
    BATON_CHECK(item < ring_ && !contains(item), item);
    const std::uint32_t newest = links_[ring_].older;
    links_[item] = {newest, ring_};
    links_[newest].newer = item;
    links_[ring_].older = item;
    ++size_;
  }

  // REQUIRES that it is in the list.
  void remove(std::uint32_t item) noexcept {
    BATON_CHECK(item < ring_ && contains(item), item);
    const Link link = links_[item];
    links_[link.older].newer = link.newer;
    links_[link.newer].older = link.older;
    links_[item] = {kOut, kOut};
    --size_;
  }

 private:
  static constexpr std::uint32_t kOut = 0xffffffff;

  struct Link {
    std::uint32_t older = kOut;
    std::uint32_t newer = kOut;
  };

  std::vector<Link> links_;  // the last one closes the ring: newer is the oldest item, older the newest
  std::uint32_t ring_;
  std::uint32_t size_ = 0;
};

}  // namespace baton
