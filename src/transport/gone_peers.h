// A short list of instances that are over. Bounded: the oldest are forgotten first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "transport/transfer.h"

namespace baton {

class GonePeers final {
 public:
  explicit GonePeers(std::size_t peers_max) : peers_max_(peers_max) {}

  bool contains(const PeerId& peer) const { return std::find(peers_.begin(), peers_.end(), peer) != peers_.end(); }

  // False if it is there already.
  bool add(const PeerId& peer) {
    if (contains(peer)) {
      return false;
    }
    if (peers_.size() == peers_max_) {
      peers_.erase(peers_.begin());
    }
    peers_.push_back(peer);
    return true;
  }

  const std::vector<PeerId>& list() const noexcept { return peers_; }
  bool empty() const noexcept { return peers_.empty(); }

 private:
  std::size_t peers_max_;
  std::vector<PeerId> peers_;  // oldest first
};

}  // namespace baton
