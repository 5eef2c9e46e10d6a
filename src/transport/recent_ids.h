// The ids that ended lately and how, so that a late message for one of them is recognised and answered, and an id is
// not used twice.
//
// Bounded: the oldest are forgotten first.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/errors.h"
#include "transport/transfer.h"

namespace baton {

inline constexpr std::size_t kRecentRoomsMax = 4096;

class RecentIds final {
 public:
  explicit RecentIds(std::size_t ids_max) : ids_max_(ids_max) {}

  // The first outcome stays.
  void insert(const TransferId& id, std::optional<Failure> failure = std::nullopt) {
    if (ids_max_ > 0 && known_.try_emplace(id, std::move(failure)).second) {
      order_.push_back(id);
      if (order_.size() > ids_max_) {
        known_.erase(order_.front());
        order_.pop_front();
      }
    }
  }
  bool contains(const TransferId& id) const { return known_.contains(id); }

  // Why it failed, or nullopt inside; null if the id is not known. Valid until the next insert().
  const std::optional<Failure>* outcome(const TransferId& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : &found->second;
  }
  std::size_t size() const noexcept { return order_.size(); }

 private:
  std::size_t ids_max_;
  std::deque<TransferId> order_;
  std::unordered_map<TransferId, std::optional<Failure>> known_;
};

}  // namespace baton
