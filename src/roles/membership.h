// Which instances of the ranks live, as one router sees it: pure bookkeeping, told of heartbeats and of the time.
//
//   unheard --heartbeat--> alive --silent for too long, or another instance heard--> gone, for good
//
// Gone is a verdict and need not be true of the process: the others stop talking to the instance and keep its writes
// out, and it learns of it when it can hear again. A restarted rank is another instance and starts at the top. Used on
// the router's context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/ids.h"
#include "runtime/time.h"
#include "transport/gone_peers.h"
#include "transport/transfer.h"

namespace baton {

// How ranks show that they live. With period zero nobody does: the configured ranks are usable for ever.
struct Liveness {
  Duration period{0};        // between two heartbeats of a rank
  std::uint32_t missed = 3;  // a rank that was not heard for so many periods is lost
};

class Membership final {
 public:
  static constexpr std::size_t kGoneMax = 64;

  // Only configured ranks are ever members. Their instances count only where the period is zero.
  Membership(const std::vector<PeerId>& configured, Liveness liveness);

  bool watches() const noexcept { return liveness_.period > Duration::zero(); }

  // A heartbeat. Gives the instance that this one replaces, which is gone from now on. Whoever is gone stays so for
  // as long as it is among the last kGoneMax, and an unknown rank stays unknown.
  std::optional<PeerId> heard(const PeerId& peer, TimePoint now);

  // The instances that are lost by now and were not before. Asked more than a period after next() it blames itself, not
  // them: a judge who slept has not read his letters. Everybody then has the whole time again.
  std::vector<PeerId> expire(TimePoint now);
  TimePoint next() const;  // when expire() may find somebody; kNever if it cannot

  // Who lives at this rank and may be given work.
  std::optional<PeerId> usable(RankId rank) const;

  // The latest kGoneMax instances that are gone, oldest first.
  const GonePeers& gone() const noexcept { return gone_; }

 private:
  struct Member {
    std::optional<PeerId> alive;
    TimePoint heard{};
  };

  Duration patience() const { return liveness_.period * liveness_.missed; }

  Liveness liveness_;
  std::map<RankId, Member> members_;
  GonePeers gone_{kGoneMax};
};

}  // namespace baton
