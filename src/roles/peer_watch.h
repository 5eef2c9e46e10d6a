// A rank's part in the watch over peers: it says that it lives, and takes in who does not.
//
//   PeerWatch --Heartbeat--> every router        router --PeersGone--> rank --learn()--> its rooms and its transport
//
// Owned beside its rank, used on the rank's context.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "roles/control_link.h"
#include "roles/membership.h"
#include "runtime/context.h"
#include "runtime/task.h"
#include "transport/gone_peers.h"

namespace baton {

struct PeerWatchConfig {
  Liveness liveness;
  std::uint32_t routers = 1;
  std::function<void(RankId)> expelled = {};  // the rank has been given up; called once, on its context
};

class PeerWatch final {
 public:
  // Enough for all that several routers repeat.
  static constexpr std::size_t kGoneMax = 1024;

  PeerWatch(Context& context, PeerId self, ControlLink& link, PeerWatchConfig config);

  // Says at once, and then every period, that this instance lives. Runs until cancelled; with period zero it returns.
  Task<> beat();

  // Those of the message that are news, without this instance itself. If that is among them for the first time, its
  // supervisor hears.
  std::vector<PeerId> learn(const PeersGone& gone);

  bool gone(const PeerId& peer) const { return gone_.contains(peer); }

 private:
  Context& context_;
  PeerId self_;
  ControlLink& link_;
  PeerWatchConfig config_;
  GonePeers gone_{kGoneMax};
};

}  // namespace baton
