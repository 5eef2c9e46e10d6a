// The ids that ended lately, so that a late message for one of them is recognised and an id is not used twice.
//
// Bounded: the oldest are forgotten first.
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_set>

#include "transport/transfer.h"

namespace baton {

inline constexpr std::size_t kRecentRoomsMax = 4096;

class RecentIds final {
 public:
  explicit RecentIds(std::size_t ids_max) : ids_max_(ids_max) {}

  void insert(const TransferId& id) {
    if (ids_max_ > 0 && known_.insert(id).second) {
      order_.push_back(id);
      if (order_.size() > ids_max_) {
        known_.erase(order_.front());
        order_.pop_front();
      }
    }
  }
  bool contains(const TransferId& id) const { return known_.contains(id); }
  std::size_t size() const noexcept { return order_.size(); }

 private:
  std::size_t ids_max_;
  std::deque<TransferId> order_;
  std::unordered_set<TransferId> known_;
};

}  // namespace baton
